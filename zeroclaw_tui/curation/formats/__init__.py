"""The files that memories come in: our own, and those of other tools."""

from typing import Final

FLAGGED: Final = "flagged"
ALONG = ("instructions", FLAGGED)
"""What is left out unless it is asked for: instructions that are no memories, texts that seem to hold a secret or a
threat."""
