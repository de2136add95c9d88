"""ZeroClaw's ranking by version: pure functions on the evidence of a store.

profiles.py lists the differences between versions. A store searches (stages.py) and returns evidence (evidence.py),
decide.py ranks it and builds the answer, with the rules on what reaches the prompt (injection.py). record.py and
explain.py describe the path of one memory, what_if.py compares two recalls. numpy is imported only where it is used.
"""
