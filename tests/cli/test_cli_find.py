"""`search`: the list of what contains a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from zeroclaw_tui.cli.entries import SEARCH_CHANGED

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "as_list"),
    [
        (("RAMEN", "and"), ("--contains", "ramen and")),
        (("rust", "--regex", "(?i)helix|prefers"), ("--contains", "rust", "--regex", "(?i)helix|prefers")),
    ],
)  # fmt: skip
def test_search_is_the_list_of_what_has_the_text(
    memory: Run, arguments: tuple[str, ...], as_list: tuple[str, ...]
) -> None:
    for form in ((), ("--json",)):
        found, listed = memory("search", *arguments, *form), memory("list", *as_list, *form)
        assert (found.code, found.out) == (0, listed.out)
        assert found.err == f"zeroclaw: {SEARCH_CHANGED}\n{listed.err}"


@pytest.mark.parametrize("arguments", [(), ("--category", "core"), ("--regex", "")])
def test_search_for_nothing_is_wrong_use(memory: Run, arguments: tuple[str, ...]) -> None:
    answer = memory("search", *arguments)
    assert (answer.code, answer.out) == (2, "")
