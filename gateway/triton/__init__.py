"""Everything that knows Triton: the embedded server, the client, the shared memory between them."""
