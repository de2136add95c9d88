"""SQLite finds exactly what the meaning says, off the event loop, within a limit, and can be called off."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from changed_stores import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.small_store import make

from zeroclaw_tui.backends.lookup import count_facets, count_matching, versions
from zeroclaw_tui.backends.matching import matches
from zeroclaw_tui.memory.query import MemoryFilter, Sort
from zeroclaw_tui.testing.tools import entries_of, handles_of

NOW = "2026-11-21T12:00:00+00:00"
ALPHABET = st.characters(codec="utf-8") | st.sampled_from("aAbBkKßẞſКкΣσςİıéÉ花生\u0301\0 \n.%_")
texts = st.text(ALPHABET, max_size=24)
patterns = st.sampled_from(
    ["a", "^a", "k$", r"\bb", r"\p{Han}", r"\x00", "[aк]{2}", "x*", "ß", r"(?s)a.b", r"\w+\s", r"\X{3}", "(?=é)", "^$"]
)
wanted = st.one_of(
    st.builds(lambda text: MemoryFilter(contains=text or None), texts),
    st.builds(lambda pattern: MemoryFilter(regex=pattern), patterns),
    st.builds(lambda text, pattern: MemoryFilter(contains=text or None, regex=pattern),
              st.text(ALPHABET, max_size=2), patterns),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(texts, texts), max_size=6), st.lists(wanted, min_size=1, max_size=4))
def test_sqlite_finds_what_the_meaning_says(rows, filters):
    """Any keys and contents, NUL, CJK, combining marks and nothing among them: listing, counts, rows and stamps."""

    async def look(path):
        async with opened(path) as memory:
            every = await entries_of(memory, MemoryFilter())
            for found in filters:
                left = [entry.handle for entry in every if matches(entry, found)]
                assert list(await handles_of(memory, found, Sort(descending=False))) == left, found
                assert [entry.handle for entry in (await entries_of(memory, found))] == left
                assert (await count_facets(memory, found, NOW)).total == len(left)
                assert await count_matching(memory, found) == len(left)
                assert [stamp.handle for stamp in await versions(memory, found)] == left
                seen: list[object] = []
                await memory.scan(lambda row, seen=seen: seen.append(row.handle), found)
                assert seen == left

    with TemporaryDirectory() as folder:
        stored = [{"key": f"{number} {key}", "content": content} for number, (key, content) in enumerate(rows)]
        asyncio.run(look(make(Path(folder) / "brain.db", "G4", stored)))
