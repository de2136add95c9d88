"""The files that memories come in: our own, and those of other tools."""
