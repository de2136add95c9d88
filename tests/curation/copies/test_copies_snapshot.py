"""Entries of MEMORY_SNAPSHOT.md as ZeroClaw reads them, found and cut out to the byte."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.left_texts import snapshot

from zeroclaw_tui.curation.copies.texts import Text, Wanted, bytes_of, lines_of, spans_in_snapshot, without_entries
from zeroclaw_tui.curation.formats.snapshot import parts_in

SNAPSHOTS = Path(__file__).parents[2] / "data" / "snapshots"

_PIECES = (
    "plain words", "---", "*Created: x*", "### 🔑 `key 1`", "### 🔑 `other`", "### 🔑 ``", "", "  indented",
    "# heading", "`", "\x00", "日本語", "\r", "(.*)+",
)  # fmt: skip
_contents = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("\n".join)
_few = st.sampled_from(("plain words", "", "---", "### 🔑 `key 1`"))
_entries = st.builds(
    lambda first, end, key, last: f"{first}{end}### 🔑 `key {key}`\n{last}",
    _few,
    st.sampled_from(("\n", "\n---\n", "\n*Created: x*\n---\n", "\n\n*Created: x*\n\n---\n\n")),
    st.integers(0, 3),
    _few,
)


def _cut(data: bytes, gone: list[Text], stays: list[tuple[str, str]]) -> bytes:
    lines = lines_of(data)
    living: dict[str, set[str]] = {}
    for key, content in stays:
        living.setdefault(key, set()).add(content)
    spans = list(spans_in_snapshot(lines, Wanted(gone), living))
    return bytes_of(without_entries(lines, spans))


@pytest.mark.parametrize("name", ["zeroclaw_0.1.7.md", "zeroclaw_0.8.4.md"])
def test_each_entry_of_a_real_snapshot_is_found_and_cut_out_alone(name: str) -> None:
    """By its content under any key, and by its key alone; the rest stays to the byte, but for the total."""
    data = (SNAPSHOTS / name).read_bytes()
    parts = parts_in(lines_of(data))
    assert len(parts) == 11
    for part in parts:
        lines = lines_of(data)
        expected = bytes_of(lines[: part.start] + lines[part.end :]).replace(b"memories:** 11", b"memories:** 10")
        others = [(other.key, other.content) for other in parts if other is not part]
        assert _cut(data, [Text("i", "another key", f"\n{part.content} \n")], others) == expected
        assert _cut(data, [Text("i", part.key, "another content")], others) == expected
    assert _cut(data, [Text("i", "no such key", "no such content")], []) == data
    everything = _cut(data, [Text(str(at), part.key, part.content) for at, part in enumerate(parts)], [])
    assert everything == data[: data.index("### 🔑".encode())].replace(b"memories:** 11", b"memories:** 0")


def _looks_like_entries(content: str) -> bool:
    """Whether a content has what ends an entry, and behind it what begins the next."""
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    return any(
        created.startswith("*Created:") and rule == "---" and head.startswith("### 🔑 `") and head.endswith("`")
        for created, rule, head in zip(lines, lines[1:], lines[2:], strict=False)
    )


@settings(max_examples=100, deadline=None)
@example(contents=["plain words", "---", "plain words\n### 🔑 `key 1`"], chosen={0, 1, 2})
@example(contents=["plain words", "---", "plain words\n### 🔑 `key 1`"], chosen={0, 2})
@example(contents=["plain words\n### 🔑 `key 1`\n---", "plain words"], chosen={1})
@example(contents=["plain words\n*Created: x*\n---\n### 🔑 `key 1`", "plain words", ""], chosen={0, 2})
@given(
    contents=st.lists(_contents | _entries, min_size=1, max_size=6, unique_by=str.strip),
    chosen=st.sets(st.integers(0, 5)),
)
def test_what_is_cut_out_leaves_the_snapshot_of_the_others(contents: list[str], chosen: set[int]) -> None:
    """Also where contents have lines that look like entries, which ZeroClaw would read as more of them.

    Nothing of a memory that stays is ever taken. Where a content has the end of one entry and the beginning of the
    next, nobody can tell whether these are two: then something that looks like an entry may be left of what went.
    """
    rows = [(f"key {at}", content) for at, content in enumerate(contents)]
    texts = [Text(str(at), *row) for at, row in enumerate(rows) if at in chosen]
    stays = [row for at, row in enumerate(rows) if at not in chosen]
    lines = lines_of(snapshot(*rows).encode())
    living = {key: {content} for key, content in stays}
    spans = list(spans_in_snapshot(lines, Wanted(texts), living))
    cut = {at for start, end, _ in spans for at in range(start, end)}
    starts = [len(lines_of(snapshot(*rows[:at]).encode())) - 1 for at in range(len(rows) + 1)]
    for at, (start, end) in enumerate(pairwise(starts)):
        if at not in chosen:
            assert not cut & set(range(start, end))
        elif not any(_looks_like_entries(content) for _, content in stays):
            assert start in cut
    if not any(map(_looks_like_entries, contents)):
        assert bytes_of(without_entries(lines, spans)) == snapshot(*stays).encode()


def test_what_looks_like_two_entries_is_taken_for_two() -> None:
    """The one that has the key of a memory still stored stays, whatever content it may have been a part of."""
    pasted = "begins here\n\n*Created: x*\n\n---\n\n### 🔑 `kept`\n\ncontent of it"
    cut = _cut(snapshot(("gone", pasted), ("kept", "content of it")).encode(), [Text("i", "gone", pasted)],
               [("kept", "content of it")])  # fmt: skip
    assert b"begins here" not in cut
    assert cut.count(b"content of it") == 2


def test_a_total_that_is_no_number_stays() -> None:
    changed = snapshot(("k", "content of it")).replace("** 1", "** many")
    cut = _cut(changed.encode(), [Text("i", "k", "")], [])
    assert b"**Total core memories:** many" in cut
    assert b"content of it" not in cut
