"""The location of an install, and the memory settings in its config.toml.

locations.py finds the install as ZeroClaw does, load.py reads config and environment into a `MemoryConfig`. schema.py
is the table of settings. document.py edits the file statement by statement, save.py writes it with a backup, and
secrets.py encrypts as ZeroClaw does.
"""
