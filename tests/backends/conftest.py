"""What the tests of several stores share."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
from support.opened import opened_memory
from support.slept_clock import Clock


@pytest.fixture
async def opening():
    """Opens a store, and closes it after the test."""
    async with AsyncExitStack() as stack:

        async def opened(memory):
            return await stack.enter_async_context(opened_memory(memory))

        yield opened


@pytest.fixture
def clock():
    return Clock()
