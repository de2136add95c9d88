"""MEMORY_SNAPSHOT.md: written, compared with the store, and hydrated from."""
