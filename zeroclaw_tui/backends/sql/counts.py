"""Count the rows of a table by a column, or by age, quarter hour and size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from zeroclaw_tui.backends.matching import by_count
from zeroclaw_tui.backends.sql.select import Select
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.query import AGE_GROUPS
from zeroclaw_tui.memory.statistics import SIZE_GROUPS, SIZE_LIMITS, CountField, Counts

_COLUMNS: Mapping[CountField, str] = {
    "category": "category",
    "session": "session_id",
    "agent": "agent_id",
    "namespace": "namespace",
    "superseded": "superseded_by",
    "embedded": "embedding",
}
"""The column that a field needs."""
_NUMBERS: Sequence[CountField] = ("quarter", "age", "size")
"""The other fields. They are counted as one number, in which the last two are digits of base `_BASE`."""
_BASE = max(len(AGE_GROUPS), len(SIZE_GROUPS))
_DAYS = (1, 7, 30)
_UNDATED = -(10**9)
"""A quarter hour before any possible date, for rows without a date."""


def counted_together(select: Select, by: Sequence[CountField]) -> Sequence[Sequence[CountField]]:
    """Group the fields of the table by statement: one for each column, to use its index, and one for all numbers."""
    columns = [field for field in by if field in _COLUMNS and select.column(_COLUMNS[field])]
    numbers = [field for field in _NUMBERS if field in by]
    return [*([field] for field in columns), *([numbers] if numbers else [])]


class Counting:
    """The statement that counts rows by one group of `counted_together`, or in total, and the counts from its result.

    For the field "superseded" the filter must select superseded rows only.
    """

    def __init__(self, select: Select, now: str, fields: Sequence[CountField]) -> None:
        self.select = select
        self._fields = fields
        if "embedded" in fields:
            select.also(f"{select.column('embedding')} IS NOT NULL")
        until = moment(now) or datetime.max.replace(tzinfo=UTC)
        self._limits = [select.moment(until - timedelta(days=days)) for days in _DAYS] if "age" in fields else []

    @property
    def statement(self) -> str:
        """A SELECT of a value, the number of rows with it, and the total size of their contents in bytes."""
        select, fields = self.select, self._fields
        if not fields:
            return select.statement("NULL, count(*), 0")
        if fields[0] in _NUMBERS:
            value, size = "0", "sum(size)" if "size" in fields else "0"
            for field in fields:
                value = f"({value}) * {_BASE} + {self._number(field)}"
            read = f"{select.created} AS created, {select.size if 'size' in fields else '0'} AS size"
        else:
            is_part = fields[0] in ("superseded", "embedded")
            value = select.column("category" if is_part else _COLUMNS[fields[0]]) or "NULL"
            if not is_part:
                return select.statement(f"{value}, count(*), 0", "GROUP BY 1")
            value, size, read = "category", "0", f"{value} AS category"
        # The subquery computes date and size once for each row, and scans the table instead of an index.
        return f"SELECT {value}, count(*), {size} FROM ({select.statement(read, select.barrier)}) AS counted GROUP BY 1"

    def _number(self, field: CountField) -> str:
        """The SQL of a field as a number."""
        if field == "quarter":
            return f"coalesce({self.select.quarter('created')}, {_UNDATED})"
        if field == "age":
            ages = " ".join(f"WHEN created > {limit} THEN {at}" for at, limit in enumerate(self._limits))
            return f"CASE {ages} WHEN created IS NULL THEN {len(_DAYS) + 1} ELSE {len(_DAYS)} END"
        sizes = " ".join(f"WHEN size < {limit} THEN {at}" for at, limit in enumerate(SIZE_LIMITS))
        return f"CASE {sizes} ELSE {len(SIZE_LIMITS)} END"

    def counts(self, groups: Iterable[Sequence[Any]], aliases: Mapping[str, str]) -> Counts:
        """Sum the groups of the statement; `aliases` are the agents' aliases by id."""
        counters = {field: Counter[Any]() for field in self._fields}
        total = content = 0
        for value, rows, size in groups:
            total += rows
            content += size or 0
            for field in reversed(self._fields):
                is_digit = field in ("age", "size")
                counters[field][value % _BASE if is_digit else value] += rows
                value = value // _BASE if is_digit else value
        by = {field: self._named(field, counter, aliases) for field, counter in counters.items()}
        return Counts(total, by, content)

    def _named(self, field: CountField, counter: Counter[Any], aliases: Mapping[str, str]) -> Mapping[Any, int]:
        """Convert the counts to the displayed values, in the order of Counts."""
        match field:
            case "age" | "size":
                return {name: counter[at] for at, name in enumerate(AGE_GROUPS if field == "age" else SIZE_GROUPS)}
            case "quarter":
                return {None if at == _UNDATED else at: count for at, count in counter.most_common()}
        texts = Counter[str]()
        for value, count in counter.items():
            if field in ("category", "superseded", "embedded"):
                texts[self.select.category_of(value)] += count
            elif value is not None or field == "session":
                texts[aliases.get(as_text(value), as_text(value)) if field == "agent" else as_text(value)] += count
        return by_count(texts)
