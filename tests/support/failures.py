"""Errors of stores, checked before a user may see them."""

from __future__ import annotations

from collections.abc import Awaitable

from support.memories import InspectorError
from zeroclaw_tui.testing.tools import raises


async def failure_of(
    work: Awaitable[object], *secrets: str, kind: type[InspectorError] = InspectorError
) -> InspectorError:
    """Return the error raised: one line with a hint, and no secret in it or in its cause."""
    error = await raises(work, kind)
    assert error.hint
    assert "\n" not in str(error)
    for secret in secrets:
        assert secret not in f"{error} {error!r} {error.__cause__!r}"
    return error
