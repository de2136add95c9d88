"""Memory in Redis."""
