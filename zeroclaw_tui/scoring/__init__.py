"""ZeroClaw's ranking by version: pure functions on what a store found.

profiles.py lists what differs between versions. A store returns evidence (evidence.py), decide.py ranks it,
injection.py decides what reaches the prompt, explain.py puts the way of one memory into sentences and what_if.py
compares two recalls. numpy is imported only where vectors are.
"""
