"""Files of any program, read and replaced without harm.

disk.py replaces a file atomically and keeps its mode; database.py opens and copies SQLite databases, explains SQLite's
errors, and finds out who has a database open.
"""
