"""`search`: the list of what contains a text."""

from __future__ import annotations

import pytest
from support.commands import Command

from zeroclaw_tui.cli.entries import SEARCH_CHANGED


@pytest.mark.parametrize(
    ("arguments", "as_list"),
    [
        (("RAMEN", "and"), ("--contains", "ramen and")),
        (("rust", "--regex", "(?i)helix|prefers"), ("--contains", "rust", "--regex", "(?i)helix|prefers")),
    ],
)  # fmt: skip
def test_search_is_the_list_of_what_has_the_text(
    memory: Command, arguments: tuple[str, ...], as_list: tuple[str, ...]
) -> None:
    for form in ((), ("--json",)):
        found, listed = memory("search", *arguments, *form), memory("list", *as_list, *form)
        assert (found.code, found.out) == (0, listed.out)
        assert found.err == f"zeroclaw: {SEARCH_CHANGED}\n{listed.err}"
