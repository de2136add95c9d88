"""ZeroClaw's own store: brain.db, every generation of its schema."""
