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
"""The other fields, which are computed from a row's date and size."""
_DAYS = (1, 7, 30)


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
        """A SELECT of a value for each field, the number of rows with these, and the bytes of their contents."""
        select, fields = self.select, self._fields
        if not fields:
            return select.statement("count(*), 0")
        if fields[0] in _NUMBERS:
            value, size = ", ".join(map(self._number, fields)), "sum(size)" if "size" in fields else "0"
            read = f"{select.created} AS created, {select.size if 'size' in fields else '0'} AS size"
        else:
            is_part = fields[0] in ("superseded", "embedded")
            value = select.column("category" if is_part else _COLUMNS[fields[0]]) or "NULL"
            if not is_part:
                return select.statement(f"{value}, count(*), 0", "GROUP BY 1")
            value, size, read = "category", "0", f"{value} AS category"
        # The subquery computes date and size once for each row, and scans the table instead of an index.
        counted = f"({select.statement(read, select.barrier)}) AS counted"
        columns = ", ".join(str(number) for number in range(1, len(fields) + 1))
        return f"SELECT {value}, count(*), {size} FROM {counted} GROUP BY {columns}"

    def _number(self, field: CountField) -> str:
        """The SQL of a field as a number."""
        if field == "quarter":
            return self.select.quarter("created")
        if field == "age":
            ages = " ".join(f"WHEN created > {limit} THEN {at}" for at, limit in enumerate(self._limits))
            return f"CASE {ages} WHEN created IS NULL THEN {len(_DAYS) + 1} ELSE {len(_DAYS)} END"
        sizes = " ".join(f"WHEN size < {limit} THEN {at}" for at, limit in enumerate(SIZE_LIMITS))
        return f"CASE {sizes} ELSE {len(SIZE_LIMITS)} END"

    def counts(self, groups: Iterable[Sequence[Any]], aliases: Mapping[str, str]) -> Counts:
        """Sum the groups of the statement; `aliases` are the agents' aliases by id."""
        counters = {field: Counter[Any]() for field in self._fields}
        total = content = 0
        for *values, rows, size in groups:
            total += rows
            content += size or 0
            for field, value in zip(self._fields, values, strict=True):
                counters[field][value] += rows
        by = {field: self._named(field, counter, aliases) for field, counter in counters.items()}
        return Counts(total, by, content)

    def _named(self, field: CountField, counter: Counter[Any], aliases: Mapping[str, str]) -> Mapping[Any, int]:
        """Convert the counts to the displayed values, in the order of Counts."""
        match field:
            case "age" | "size":
                return {name: counter[at] for at, name in enumerate(AGE_GROUPS if field == "age" else SIZE_GROUPS)}
            case "quarter":
                return dict(counter.most_common())
        texts = Counter[str]()
        for value, count in counter.items():
            if field in ("category", "superseded", "embedded"):
                texts[self.select.category_of(value)] += count
            elif value is not None or field == "session":
                texts[aliases.get(as_text(value), as_text(value)) if field == "agent" else as_text(value)] += count
        return by_count(texts)
