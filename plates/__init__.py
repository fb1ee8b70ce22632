"""The kernel: pure functions on arrays shared by the gateway, Triton's Python models and the training."""
