"""Stores of memories: one contract, one factory, and a module or folder for each store.

base.py is the contract (`Memory`), factory.py makes the store that a config names. What several stores share is here:
batches of changes, filters, loaded memories. sqlite, postgres, markdown, qdrant and rmem are folders, the others one
module each. Nothing above this package asks which store it has: `about`, `why_not` and `upkeep` say what it can do.
"""
