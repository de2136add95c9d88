"""What is exported, imported and copied is in an install of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from transfer_samples import Place


@pytest_asyncio.fixture
async def place(clean_environment: Path) -> AsyncIterator[Place]:
    """An install with a database of a few memories, and the inspector on it."""
    yield Place(clean_environment)
