"""Code shared by the SQL stores: SQLite and PostgreSQL."""
