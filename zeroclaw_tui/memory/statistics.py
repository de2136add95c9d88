"""Counts of a store's memories, which every backend can provide."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

QUARTER_SECONDS = 900
"""Times are counted by quarter hours since 1970 in UTC, because every time zone's day begins at a quarter hour."""

SIZE_LIMITS = (100, 1024, 10 * 1024, 100 * 1024)
SIZE_GROUPS = ("under 100 B", "100 B to 1 KB", "1 KB to 10 KB", "10 KB to 100 KB", "over 100 KB")
"""Lengths of contents in bytes of UTF-8; each group ends below the limit at the same index."""

CountField = Literal[
    "category", "session", "agent", "namespace", "age", "superseded", "embedded", "size", "quarter"
]  # fmt: skip
COUNT_FIELDS: tuple[CountField, ...] = get_args(CountField)
FACET_FIELDS = COUNT_FIELDS[:-2]


class Counts(NamedTuple):
    """The number of memories that match a filter, in total and by the values of each field.

    `by` has one mapping from value to count, highest first, for each requested field; a field that the store or its
    generation does not have is missing. Values are texts ("" is no session), except for

    - `age`: the names in AGE_GROUPS, at the given time;
    - `superseded`: superseded memories by category, even if the filter excludes them;
    - `embedded`: memories with a vector, by category;
    - `size`: the names in SIZE_GROUPS; then `content` is the sum of all sizes in bytes;
    - `quarter`: quarter hours since 1970 (UTC), None for memories whose creation time is invalid.
    """

    total: int
    by: Mapping[CountField, Mapping[Any, int]] = MappingProxyType({})
    content: int = 0

    @property
    def superseded(self) -> int:
        """The number of superseded memories."""
        return sum(self.by.get("superseded", {}).values())
