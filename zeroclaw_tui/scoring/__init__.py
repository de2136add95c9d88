"""ZeroClaw's ranking by version: pure functions on the evidence of a store.

profiles.py lists the differences between versions. A store returns evidence (evidence.py), decide.py ranks it,
injection.py decides what reaches the prompt, explain.py describes the path of one memory in sentences and what_if.py
compares two recalls. numpy is imported only in functions that use vectors.
"""
