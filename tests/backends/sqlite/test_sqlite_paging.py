"""Pages, scans and counts agree with plain Python for every order, filter, text and pattern."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from changed_stores import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import create_database
from support.questions import EXCERPTS, HANDLES, MemoryFilter, Query, Sort, SortField, Superseded
from support.small_store import add
from support.stores import count_facets, count_matching, entries_with_key, versions

from zeroclaw_tui.backends.matching import age_group, matches
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.testing.tools import entries_of, handles_of

NOW = "2026-03-20T12:00:00+00:00"
TEXTS = st.text(st.sampled_from("aAbBzZ%_\\'\"é用\0\n 1kKßẞſКкΣσςİı花\u0301"), max_size=12)
PATTERNS = [
    "a", "^a", "z$", r"\bb", r"\p{Han}", r"\x00", "[aк]{2}", "x*", "ß", r"(?s)a.b", r"\w+\s", r"\X{3}", "(?=é)", "^$",
]  # fmt: skip
INVALID = st.binary(min_size=1, max_size=4).map(lambda value: value.decode("utf-8", "surrogateescape"))
CONTENTS = TEXTS | INVALID | st.just("long " * 200)
DATES = st.sampled_from([
    "2026-03-20T11:00:00.123456789+00:00", "2026-03-20T11:00:00.124456789+00:00", "2026-03-20T13:30:00+02:00",
    "2026-03-20T08:00:00-05:00", "2026-03-14T23:59:59Z", "2026-02-20T00:00:00+00:00", "2020-01-01T00:00:00+00:00",
    "2026-01-05", "now", "", "1234", "yesterday", "2026-99-99T00:00:00+00:00",
])  # fmt: skip
SOME = {
    "category": st.sampled_from(["core", "daily", "with space", "用户"]),
    "session_id": st.sampled_from([None, "", "s1", "s'2"]),
    "agent": st.sampled_from(["default", "alice", "用户"]),
    "namespace": st.sampled_from([None, "default", "work"]),
    "superseded_by": st.sampled_from([None, None, "core_1"]),
    "embedding": st.sampled_from([None, b"\0\0\0\0"]),
}
ROWS = st.lists(
    st.fixed_dictionaries({"content": CONTENTS, "created_at": DATES, "updated_at": DATES, **SOME}), max_size=25
)


def several(values):
    return st.none() | st.lists(values, min_size=1, max_size=2, unique=True).map(tuple)


FILTERS = st.builds(
    MemoryFilter,
    category=several(SOME["category"]),
    session=several(st.sampled_from(["", "s1", "s'2"])),
    agent=several(st.sampled_from(["default", "alice", "nobody"])),
    namespace=several(st.sampled_from(["default", "work"])),
    older_than=st.none() | st.sampled_from(["2026-03-20T11:15:00+00:00", "2026-03-20T13:15:00+02:00", "2021-01-01"]),
    newer_than=st.none() | st.sampled_from(["2026-02-20T00:00:00+01:00", "2019-01-01"]),
    contains=st.none() | TEXTS.map(lambda text: text or None) | INVALID,
    regex=st.none() | st.sampled_from(PATTERNS),
    superseded=st.sampled_from(Superseded),
)
SORTS = st.builds(Sort, st.sampled_from(SortField), st.booleans())


def raw(text):
    return text.encode("utf-8", "surrogateescape")


def key_of(entry, field):
    """Return the sort key of a memory without SQL; ties are sorted by rowid, lowest first for the newest update."""

    def when(text):
        parsed = moment(text)
        return (parsed is not None, parsed.timestamp() if parsed else 0.0, raw(text))

    own = {
        SortField.STORED: (),
        SortField.KEY: raw(entry.key),
        SortField.CATEGORY: raw(entry.category),
        # SQLite's substr() ends at a NUL.
        SortField.CONTENT: raw(entry.content.partition("\0")[0][:200]),
        SortField.SIZE: entry.size,
        SortField.AGE: when(entry.timestamp),
        SortField.UPDATED: when(entry.updated_at),
    }
    return (own[field], -entry.handle if field is SortField.UPDATED else entry.handle)


def stored(row):
    """Return the row as bytes for SQL, so that invalid UTF-8 can be stored."""
    return {name: value for name, value in row.items() if name != "content"} | {"content": "?"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, filter=FILTERS, sort=SORTS, limit=st.integers(1, 7))
def test_pages_order_counts_and_plain_python_agree(rows, filter, sort, limit):
    async def check(path):
        async with opened(path) as memory:
            every = await entries_of(memory, MemoryFilter(superseded=Superseded.SHOW))
            assert len(every) == len(rows)
            expected = sorted(
                (entry for entry in every if matches(entry, filter)),
                key=lambda entry: key_of(entry, sort.field),
                reverse=sort.descending,
            )
            handles = [entry.handle for entry in expected]
            assert list(await handles_of(memory, filter, sort)) == handles
            begin = await memory.rows(Query(HANDLES, filter, sort, offset=0, limit=limit))
            total = await count_matching(memory, filter)
            assert (list(begin), total) == (handles[:limit], len(handles))
            page = await memory.rows(Query(EXCERPTS, filter, sort, offset=1, limit=limit))
            assert [entry.handle for entry in page] == handles[1 : 1 + limit]
            assert {entry.handle for entry in (await entries_of(memory, filter))} == set(handles)
            seen: list[object] = []
            await memory.scan(lambda row: seen.append(row.handle), filter)
            assert sorted(seen) == sorted(stamp.handle for stamp in await versions(memory, filter)) == sorted(handles)
            facets = await count_facets(memory, filter, NOW)
            assert facets.total == len(expected)
            assert facets.by["category"] == Counter(entry.category for entry in expected)
            assert facets.by.get("session") == Counter(entry.session_id or "" for entry in expected)
            assert facets.by.get("agent") == Counter(entry.agent for entry in expected)
            assert facets.by["namespace"] == Counter(
                entry.namespace for entry in expected if entry.namespace is not None
            )
            now = moment(NOW)
            assert now is not None
            ages = Counter(age_group(moment(entry.timestamp), now) for entry in expected)
            assert {name: count for name, count in facets.by["age"].items() if count} == ages
            embedded = sum(facets.by["embedded"].values())
            assert embedded == sum(entry.embedding_dimensions is not None for entry in expected)
            with_superseded = [entry for entry in every if matches(entry, filter.replace(superseded=Superseded.SHOW))]
            assert facets.superseded == sum(entry.superseded_by is not None for entry in with_superseded)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "brain.db"
        create_database(path, "G4")
        add(path, [stored(row) for row in rows])
        with closing(sqlite3.connect(path)) as writer, writer:
            for at, row in enumerate(rows):
                changed = (raw(row["content"]), f"id-{at:03d}")
                writer.execute("UPDATE memories SET content = CAST(? AS TEXT) WHERE id = ?", changed)
        asyncio.run(check(path))


async def test_list_reads_a_thousand_rows_before_it_filters_by_session(make_store):
    """As in ZeroClaw, older rows of a session are cut off by newer rows of other sessions."""
    rows = [{"session_id": "mine", "updated_at": "2026-01-01"}]
    rows += [{"session_id": "other", "updated_at": f"2026-02-01T{at:06d}"} for at in range(1000)]
    async with opened(make_store(rows)) as memory:
        assert len(await memory.list()) == 1000
        assert await memory.list(session_id="mine") == []
        assert await memory.list(category="core", session_id="nobody") == []


async def test_list_returns_a_key_of_every_agent_and_get_the_oldest(make_store):
    rows = [{"key": "tz", "agent": "bob", "content": "EST"}, {"key": "tz", "agent": "alice", "content": "CET"}]
    async with opened(make_store(rows)) as memory:
        found = [(entry.agent, entry.content) for entry in await entries_with_key(memory, "tz")]
        assert found == [("bob", "EST"), ("alice", "CET")]
        assert [entry.content for entry in await entries_with_key(memory, "tz", "alice")] == ["CET"]
        assert (await memory.get("tz")).content == "EST"
