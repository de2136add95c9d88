"""Files of any program, read and replaced without harm: bytes, and SQLite databases."""
