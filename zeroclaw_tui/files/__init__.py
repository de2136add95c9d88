"""Files of any program, read and replaced without harm.

disk.py replaces a file atomically and keeps its mode, database.py opens SQLite databases read-only and translates
SQLite's errors, whole_database.py backs up a database and finds out who has it open.
"""
