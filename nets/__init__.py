"""The networks in PyTorch: their structure, data, training, evaluation and export. Nothing here runs in production."""
