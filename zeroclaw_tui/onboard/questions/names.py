"""Names that several questions share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

BACKEND = "memory.backend"
PROVIDER = "memory.embedding_provider"
CUSTOM = "custom:"
"""What a provider with an address of its own begins with."""

BACKEND_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "sqlite": "SQLite",
        "lucid": "Lucid",
        "postgres": "PostgreSQL",
        "markdown": "Markdown",
        "qdrant": "Qdrant",
        "none": "None",
    }
)
"""The backends that are offered, in this order, as they are called."""
