"""Errors of stores, as a person may see them."""

from __future__ import annotations

from collections.abc import Awaitable

from support.memories import InspectorError
from zeroclaw_tui.testing.tools import raises


async def failure_of(
    deed: Awaitable[object], *secrets: str, kind: type[InspectorError] = InspectorError
) -> InspectorError:
    """The error that it ends in, which is one line with a hint; no secret is in it or in its cause."""
    error = await raises(deed, kind)
    assert error.hint
    assert "\n" not in str(error)
    for secret in secrets:
        assert secret not in f"{error} {error!r} {error.__cause__!r}"
    return error
