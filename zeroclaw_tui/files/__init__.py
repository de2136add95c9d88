"""Safe reading and replacing of any program's files.

disk.py replaces a file atomically and preserves its mode; database.py opens and copies SQLite databases, explains
SQLite's errors, and finds the processes that have a database open.
"""
