"""Videos and camera streams: frames are sampled, plates are followed over them, each passage is one line."""
