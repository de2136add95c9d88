"""The questions themselves, one module a subject, each an ordered tuple of plain records."""
