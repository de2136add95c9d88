"""The files that memories come in: our own, and those of other tools."""

from typing import Final

FLAGGED: Final = "flagged"
VECTORS: Final = "vectors"
ALONG = ("instructions", "untrusted", "chunks", VECTORS, FLAGGED)
"""What is left out unless it is asked for: instructions that are no memories, what an
agent read from strangers, the pieces of an index whose notes are gone, vectors of which no file says what made them,
texts that seem to hold a secret or a threat."""
