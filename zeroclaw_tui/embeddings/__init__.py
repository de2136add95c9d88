"""Floor 1: text to vector."""
