"""The commands of `plate-gateway`, one per file."""
