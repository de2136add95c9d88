"""Stores of memories: one contract, one factory, and a module or folder for each store.

base.py is the contract (`Memory`), factory.py creates the store of a config. Shared code for several stores is here:
batches of changes, filters, loaded memories. sqlite, postgres, markdown and qdrant are folders, the others one module
each. Code above this package does not check the kind of store: `about`, `why_not` and `upkeep` describe its features.
"""
