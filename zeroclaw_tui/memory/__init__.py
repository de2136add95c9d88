"""The data types of the program: memories, queries, changes, recalls, errors, and functions on texts and times.

Standard library only, no input or output, no clock. entry.py is a memory, query.py selects memories, change.py
describes writes, recall.py the results for an agent.
"""
