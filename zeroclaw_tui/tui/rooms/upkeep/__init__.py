"""Upkeep: what pollutes a store, what hygiene takes, how the store is, and its snapshot."""
