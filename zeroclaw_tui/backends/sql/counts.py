"""Counting the rows of a table by one GROUP BY of all fields that are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from zeroclaw_tui.backends.sql.select import Select
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.query import AGE_GROUPS
from zeroclaw_tui.memory.statistics import SIZE_GROUPS, SIZE_LIMITS, CountField, Counts, by_count

_COLUMNS: Mapping[CountField, str] = {
    "session": "session_id",
    "agent": "agent_id",
    "namespace": "namespace",
    "superseded": "superseded_by",
    "embedded": "embedding",
}
"""The column that a field needs."""
_DAYS = (1, 7, 30)


class Counting:
    """The statement that counts rows by some fields, and the counts that follow from its groups.

    With `hides_superseded` superseded rows are counted in the field of that name only.
    """

    def __init__(self, select: Select, now: str, by: Sequence[CountField], *, hides_superseded: bool) -> None:
        self._select = select
        self._hides_superseded = hides_superseded
        self._fields = [field for field in by if field not in _COLUMNS or select.column(_COLUMNS[field])]
        is_by_category = {"category", "superseded", "embedded"} & {*self._fields}
        others = [field for field in self._fields if field != "category"]
        self._grouped: Sequence[CountField] = ["category", *others] if is_by_category else others
        until = moment(now) or datetime.max.replace(tzinfo=UTC)
        self._limits = [select.moment(until - timedelta(days=days)) for days in _DAYS] if "age" in by else []

    @property
    def statement(self) -> str:
        """A SELECT of the value of each field, how many rows have these values, and the bytes of their contents."""
        select, grouped = self._select, self._grouped
        if not grouped:
            return select.statement("count(*)")
        read = ", ".join(f"{self._column(field)} AS {field}" for field in grouped)
        counted = [*map(self._value, grouped), "count(*)", "sum(size)" if "size" in grouped else "0"]
        by = ", ".join(str(at + 1) for at in range(len(grouped)))
        # The subquery reads dates and sizes once for each row, however often they are compared.
        return f"SELECT {', '.join(counted)} FROM ({select.statement(read, select.barrier)}) AS counted GROUP BY {by}"

    def counts(self, groups: Iterable[Sequence[Any]], aliases: Mapping[str, str]) -> Counts:
        """Add up the groups of the statement; `aliases` are those of the agents by id."""
        if not self._grouped:
            return Counts(sum(rows for (rows,) in groups))
        counters = {field: Counter[Any]() for field in self._fields}
        total = content = 0
        for *values, rows, size in groups:
            group = dict(zip(self._grouped, values, strict=True))
            if "category" in group:
                group["category"] = self._select.category_of(group["category"])
            if group.get("superseded"):
                counters["superseded"][group["category"]] += rows
                if self._hides_superseded:
                    continue
            total += rows
            content += size or 0
            for field, counter in counters.items():
                if field == "embedded":
                    counter[group["category"]] += rows if group["embedded"] else 0
                elif field != "superseded":
                    counter[group[field]] += rows
        return Counts(total, {field: _named(field, counter, aliases) for field, counter in counters.items()}, content)

    def _column(self, field: CountField) -> str:
        """The SQL of what is read of a row."""
        select = self._select
        match field:
            case "age" | "quarter":
                return select.created
            case "size":
                return select.size
            case "superseded" | "embedded":
                return f"{select.column(_COLUMNS[field])} IS NOT NULL"
            case _:
                return select.column(_COLUMNS.get(field, field)) or "NULL"

    def _value(self, field: CountField) -> str:
        """The SQL of a field's value, made of the column that was read for it.

        Columns are not changed where that can wait: of those PostgreSQL knows how many groups there will be.
        """
        match field:
            case "age":
                ages = " ".join(f"WHEN age > {limit} THEN {at}" for at, limit in enumerate(self._limits))
                return f"CASE {ages} WHEN age IS NULL THEN {len(_DAYS) + 1} ELSE {len(_DAYS)} END"
            case "size":
                sizes = " ".join(f"WHEN size < {limit} THEN {at}" for at, limit in enumerate(SIZE_LIMITS))
                return f"CASE {sizes} ELSE {len(SIZE_LIMITS)} END"
            case "quarter":
                return self._select.quarter("quarter")
            case _:
                return field


def _named(field: CountField, counter: Counter[Any], aliases: Mapping[str, str]) -> Mapping[Any, int]:
    """The counts by the values that people know, in the order of Counts."""
    match field:
        case "age":
            return {name: counter[at] for at, name in enumerate(AGE_GROUPS)}
        case "size":
            return {name: counter[at] for at, name in enumerate(SIZE_GROUPS)}
        case "quarter":
            return dict(counter.most_common())
        case _:
            texts = Counter[str]()
            for value, count in counter.items():
                if value is not None or field == "session":
                    texts[aliases.get(as_text(value), as_text(value)) if field == "agent" else as_text(value)] += count
            return by_count(texts)
