"""Names that several questions share."""

PROVIDER = "memory.embedding_provider"
CUSTOM = "custom:"
"""What a provider with an address of its own begins with."""
