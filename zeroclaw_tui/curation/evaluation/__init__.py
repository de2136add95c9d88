"""Recall tests: their files, how well a store answers them, and what a change would lose."""
