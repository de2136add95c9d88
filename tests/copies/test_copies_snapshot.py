"""Entries of MEMORY_SNAPSHOT.md as ZeroClaw reads them, found and cut out to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from copies_samples import snapshot
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.curation import copies_in_snapshot
from zeroclaw_tui.curation.copies_found import Text, Wanted
from zeroclaw_tui.curation.copies_in_lines import bytes_of, lines_of

SNAPSHOTS = Path(__file__).parent.parent / "data" / "snapshots"

_PIECES = (
    "plain words", "---", "*Created: x*", "### 🔑 `key 1`", "### 🔑 `other`", "### 🔑 ``", "", "  indented",
    "# heading", "`", "\x00", "日本語", "\r", "(.*)+",
)  # fmt: skip
_contents = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("\n".join)


def _cut(data: bytes, gone: list[Text], stays: list[tuple[str, str]]) -> bytes:
    lines = lines_of(data)
    living: dict[str, set[str]] = {}
    for key, content in stays:
        living.setdefault(key, set()).add(content)
    spans = list(copies_in_snapshot.spans_of(lines, Wanted(gone), living))
    return bytes_of(copies_in_snapshot.without(lines, spans))


@pytest.mark.parametrize("name", ["zeroclaw_0.1.7.md", "zeroclaw_0.8.4.md"])
def test_each_entry_of_a_real_snapshot_is_found_and_cut_out_alone(name: str) -> None:
    """By its content under any key, and by its key alone; the rest stays to the byte, but for the total."""
    data = (SNAPSHOTS / name).read_bytes()
    parts = copies_in_snapshot.parts_in(lines_of(data))
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


@given(st.lists(_contents, min_size=1, max_size=6, unique_by=str.strip), st.data())
def test_what_is_cut_out_leaves_the_snapshot_of_the_others(contents: list[str], data: st.DataObject) -> None:
    """Also where contents have lines that look like entries, which ZeroClaw would read as more of them."""
    rows = [(f"key {at}", content) for at, content in enumerate(contents)]
    gone = data.draw(st.sets(st.integers(0, len(rows) - 1)))
    texts = [Text(str(at), *row) for at, row in enumerate(rows) if at in gone]
    stays = [row for at, row in enumerate(rows) if at not in gone]
    assert _cut(snapshot(*rows).encode(), texts, stays) == snapshot(*stays).encode()


def test_a_total_that_is_no_number_stays() -> None:
    changed = snapshot(("k", "content of it")).replace("** 1", "** many")
    cut = _cut(changed.encode(), [Text("i", "k", "")], [])
    assert b"**Total core memories:** many" in cut
    assert b"content of it" not in cut
