"""The file formats of memories: our own, and those of other tools."""
