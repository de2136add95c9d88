"""What a person does to memories: recall, explain, change, undo, clean up, import, erase; no widgets, no printing.

library.py opens a store with its journal and embedder. changes.py has every change; each runs as an action of the
journal (journal.py), so that it can be undone. Plans and outcomes have `as_json()` and sentences,
which commands and inspector show. formats/, transfer/ and traces/ are the import, the copy and the places of a text.
"""
