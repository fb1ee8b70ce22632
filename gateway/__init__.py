"""HTTP in, JSON out: the gateway in front of Triton."""
