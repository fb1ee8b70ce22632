"""What the programs that hurt a running gateway share: the gateway and its processes, pictures, clients."""
