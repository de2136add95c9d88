"""The nouns of the program: memories, queries, changes, recalls, errors, and functions on texts and times.

Standard library only, no input or output, no clock. entry.py is a memory, query.py says which ones, change.py what is
to be written, recall.py what an agent would get.
"""
