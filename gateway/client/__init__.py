"""The other side of HTTP: what sends many photos to a gateway, running elsewhere or in this process."""
