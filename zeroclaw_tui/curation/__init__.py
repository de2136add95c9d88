"""Operations on memories: recall, explain, change, undo, clean up, import and erase; no widgets, no printing.

library.py opens a store with its journal and embedder. changes.py makes every change; each runs as an action of the
journal (journal.py), so that it can be undone. Plans and outcomes have `as_json()` and `sentences()`, which the
commands and the inspector show. formats/ and transfer/ import and copy memories; traces/ finds and erases texts.
"""
