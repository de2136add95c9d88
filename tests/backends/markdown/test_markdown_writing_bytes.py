"""Any file, any changes: taken back, every byte is as it was."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from zeroclaw_tui.backends.lookup import row_with_id, versions
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.memory.change import Draft, Edit
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.testing.tools import Kept

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PIECES = (
    b"- **lang**: Prefers Rust", b"- same", b"- same", b"same", b"", b"", b"# Heading", b"---", b"```", b"  - nested",
    b"\xef\xbb\xbf- mark", b"caf\xe9", "- \u3000wide\u00a0".encode(), b"\t- tab", b"- ", b"-", b"- - twice",
    b"\x1c odd\x0b",
)  # fmt: skip
LINES = st.tuples(st.sampled_from(PIECES) | st.binary(max_size=12), st.sampled_from((b"\n", b"\n", b"\r\n")))
FILES = st.builds(
    lambda lines, last: b"".join(text + end for text, end in lines) + last,
    st.lists(LINES, max_size=12),
    st.sampled_from((b"", b"", b"- no end", b"# no end")),
)
CONTENTS = st.sampled_from(
    ("new text", "same", "- bulleted", "wörter", "# no", "two\nlines", "  blanks  ", "caf\udce9")
)
DEEDS = st.lists(
    st.tuples(st.just("create"), st.sampled_from(("core", "daily")), CONTENTS)
    | st.tuples(st.just("update"), st.integers(0, 30), CONTENTS)
    | st.tuples(st.just("remove"), st.sets(st.integers(0, 30), min_size=1, max_size=6), st.just("")),
    max_size=6,
)


def files_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def do_all(memory: MarkdownMemory, deeds: Sequence[tuple[str, object, str]], kept: Kept) -> None:
    for verb, what, content in deeds:
        entries = await memory.list()
        try:
            if verb == "create":
                await memory.create(Draft("a key", content, str(what)), kept)
            elif verb == "update" and entries:
                row = await row_with_id(memory, entries[int(str(what)) % len(entries)].id)
                assert row is not None
                done = await memory.update(row.id, Edit({"content": content}), row.fingerprint, kept)
                assert done.change.after is not None
                assert await row_with_id(memory, done.change.after.id) is not None
            elif verb == "remove" and entries:
                assert isinstance(what, set)
                ids = {entries[at % len(entries)].id for at in what}
                stamps = [stamp for stamp in await versions(memory, MemoryFilter()) if stamp.id in ids]
                assert (await memory.remove(stamps, kept)).removed == len(stamps)
                assert await memory.count() == len(entries) - len(stamps)
        except Refused:
            continue


def written(root: Path, files: dict[str, bytes]) -> MarkdownMemory:
    for name, data in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    return MarkdownMemory(root, clock=lambda: NOW)


async def run(root: Path, files: dict[str, bytes], deeds: Sequence[tuple[str, object, str]]) -> None:
    """Everything is taken back at once, and that again."""
    memory = written(root, files)
    await memory.open()
    before = files_of(root)
    kept = Kept()
    await do_all(memory, deeds, kept)
    changed = files_of(root)
    undone = Kept()
    last_first = kept.changes[::-1]
    batches = [last_first[at : at + 2] for at in range(0, len(last_first), 2)]
    reversal = await memory.revert(lambda: iter(batches), undone)
    assert reversal.reverted == len(kept.changes)
    assert files_of(root) == before
    # A file that is back where it was, by an edit to and fro, needs nothing done.
    assert {change.reverses for change in undone.changes} <= {change.number for change in kept.changes}
    again = await memory.revert(kept.last_first, Kept())
    assert again.reverted == len(kept.changes)
    assert files_of(root) == before
    await memory.revert(undone.last_first, Kept())
    assert files_of(root) == changed


async def run_one_by_one(root: Path, files: dict[str, bytes], deeds: Sequence[tuple[str, object, str]]) -> None:
    """Each deed is taken back by itself, the last first, and then each of these undos."""
    memory = written(root, files)
    await memory.open()
    states, deeds_kept = [files_of(root)], []
    for deed in deeds:
        deeds_kept.append(kept := Kept())
        await do_all(memory, [deed], kept)
        states.append(files_of(root))
    undos = []
    for at in reversed(range(len(deeds))):
        undos.append(undone := Kept())
        await memory.revert(deeds_kept[at].last_first, undone)
        assert files_of(root) == states[at]
    for at, undone in enumerate(reversed(undos), 1):
        await memory.revert(undone.last_first, Kept())
        assert files_of(root) == states[at]


TO_AND_FRO = [("update", 0, "new text"), ("update", 0, "same"), ("update", 0, "new text")]


@example(core=b"- same\n", daily=None, deeds=TO_AND_FRO)
@example(core=b"- same\n", daily=None, deeds=TO_AND_FRO * 2)
@given(core=FILES, daily=FILES | st.none(), deeds=DEEDS)
def test_whatever_was_changed_the_very_bytes_come_back(
    core: bytes, daily: bytes | None, deeds: list[tuple[str, object, str]]
) -> None:
    files = {"MEMORY.md": core} | ({} if daily is None else {"memory/2026-11-21.md": daily})
    for way in (run, run_one_by_one):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(way(Path(folder), files, deeds))
