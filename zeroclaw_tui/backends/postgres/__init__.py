"""Memory in PostgreSQL."""
