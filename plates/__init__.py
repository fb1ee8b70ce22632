"""The kernel: pure functions on numpy arrays shared by the gateway, Triton's Python models and the training."""
