"""Looking after a database file: copies, checks, repairs, and making it small."""
