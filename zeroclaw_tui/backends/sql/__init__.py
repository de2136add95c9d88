"""What the stores in SQL tables share: SQLite and PostgreSQL."""
