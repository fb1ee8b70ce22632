"""Other readers of plates beside ours, on the same photos in one run: `python -m benchmarks.peers`."""
