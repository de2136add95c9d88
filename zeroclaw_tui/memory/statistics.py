"""What a store holds, counted: plain numbers that every backend can give."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

QUARTER_SECONDS = 900
"""Moments are counted by quarter hours since 1970 in UTC: no time zone's day begins in the middle of one."""

SIZE_LIMITS = (100, 1024, 10 * 1024, 100 * 1024)
SIZE_GROUPS = ("under 100 B", "100 B to 1 KB", "1 KB to 10 KB", "10 KB to 100 KB", "over 100 KB")
"""Lengths of contents in bytes of UTF-8; each group ends below the limit at its place."""

CountField = Literal[
    "category", "session", "agent", "namespace", "age", "superseded", "embedded", "size", "quarter"
]  # fmt: skip
COUNT_FIELDS: tuple[CountField, ...] = get_args(CountField)
FACET_FIELDS = COUNT_FIELDS[:-2]


class Counts(NamedTuple):
    """How many memories a filter selects, in all and by the values of each field.

    `by` has one mapping from value to count, most first, for each field that was asked for; a field that the store or
    its generation does not have is missing. Values are text ("" is no session), but for

    - `age`: the names in AGE_GROUPS, compared with the moment given;
    - `superseded`: superseded memories by category, whatever the filter says of them;
    - `embedded`: memories with a vector, by category;
    - `size`: the names in SIZE_GROUPS; `content` is the sum of all sizes in bytes then;
    - `quarter`: quarter hours since 1970 (UTC), None for the memories whose creation time cannot be read.
    """

    total: int
    by: Mapping[CountField, Mapping[Any, int]] = MappingProxyType({})
    content: int = 0

    @property
    def superseded(self) -> int:
        """How many superseded memories there are."""
        return sum(self.by.get("superseded", {}).values())

    @property
    def not_embedded(self) -> int:
        """How many memories have no vector; 0 where the store has none at all."""
        return self.total - sum(self.by["embedded"].values()) if "embedded" in self.by else 0
