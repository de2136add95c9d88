"""Memory in Redis, a JSON document a key."""
