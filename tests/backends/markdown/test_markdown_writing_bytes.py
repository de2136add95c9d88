"""Property tests: undoing any changes to any file restores every byte."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from support.files import files_below
from support.memories import Draft, Refused
from support.questions import MemoryFilter
from support.stores import row_with_id, versions

from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, undo

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
ACTIONS = st.lists(
    st.tuples(st.just("create"), st.sampled_from(("core", "daily")), CONTENTS)
    | st.tuples(st.just("edit"), st.integers(0, 30), CONTENTS)
    | st.tuples(st.just("delete"), st.sets(st.integers(0, 30), min_size=1, max_size=6), st.just("")),
    max_size=6,
)


async def change(memory: MarkdownMemory, actions: Sequence[tuple[str, object, str]], journal: JournalRecorder) -> None:
    for verb, what, content in actions:
        entries = await memory.list()
        try:
            if verb == "create":
                await create(memory, Draft("a key", content, str(what)), journal)
            elif verb == "edit" and entries:
                row = await row_with_id(memory, entries[int(str(what)) % len(entries)].id)
                done = await edit(memory, row, {"content": content}, journal)
                assert await row_with_id(memory, done.rows[0].id) is not None
            elif verb == "delete" and entries:
                assert isinstance(what, set)
                ids = {entries[at % len(entries)].id for at in what}
                stamps = [stamp for stamp in await versions(memory, MemoryFilter()) if stamp.id in ids]
                assert (await delete(memory, stamps, journal)).written == len(stamps)
                assert await memory.count() == len(entries) - len(stamps)
        except Refused:
            continue


def written(root: Path, files: dict[str, bytes]) -> MarkdownMemory:
    for name, data in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    return MarkdownMemory(root, clock=lambda: NOW)


async def run(root: Path, files: dict[str, bytes], actions: Sequence[tuple[str, object, str]]) -> None:
    """Undo everything at once, then redo it."""
    memory = written(root, files)
    await memory.open()
    before = files_below(root)
    done, undone = JournalRecorder(), JournalRecorder()
    await change(memory, actions, done)
    changed = files_below(root)
    result = await undo(memory, done.changes[::-1], undone)
    assert (result.done, result.conflicts) == (len(done.memories), [])
    assert files_below(root) == before
    await undo(memory, undone.changes[::-1])
    assert files_below(root) == changed


async def run_one_by_one(root: Path, files: dict[str, bytes], actions: Sequence[tuple[str, object, str]]) -> None:
    """Undo each change separately, the last first, and then undo each undo."""
    memory = written(root, files)
    await memory.open()
    states, journals = [files_below(root)], []
    for action in actions:
        journals.append(journal := JournalRecorder())
        await change(memory, [action], journal)
        states.append(files_below(root))
    undos = []
    for at in reversed(range(len(actions))):
        undos.append(undone := JournalRecorder())
        await undo(memory, journals[at].changes[::-1], undone)
        assert files_below(root) == states[at]
    for at, undone in enumerate(reversed(undos), 1):
        await undo(memory, undone.changes[::-1])
        assert files_below(root) == states[at]


async def run_by_memories(root: Path, files: dict[str, bytes], actions: Sequence[tuple[str, object, str]]) -> None:
    """Undo without the saved file bytes restores the memories: the same lines with the same contents."""
    memory = written(root, files)
    await memory.open()
    before = sorted(entry.content for entry in await memory.list())
    for action in actions:
        journal = JournalRecorder()
        await change(memory, [action], journal)
        await undo(memory, journal.memories[::-1])
        assert sorted(entry.content for entry in await memory.list()) == before


BACK_AND_FORTH = [("edit", 0, "new text"), ("edit", 0, "same"), ("edit", 0, "new text")]


@example(core=b"- same\n", daily=None, actions=BACK_AND_FORTH)
@example(core=b"- same\n", daily=None, actions=BACK_AND_FORTH * 2)
@given(core=FILES, daily=FILES | st.none(), actions=ACTIONS)
def test_undoing_any_changes_restores_every_byte(core, daily, actions):
    files = {"MEMORY.md": core} | ({} if daily is None else {"memory/2026-11-21.md": daily})
    for way in (run, run_one_by_one, run_by_memories):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(way(Path(folder), files, actions))


THEIRS = b"- written by somebody else"


@example(core=b"- no end", actions=[("edit", 0, "new text")], at=1)
@given(core=FILES, actions=ACTIONS, at=st.integers(0, 30))
def test_undo_keeps_a_line_written_by_others_and_restores_all_other_lines(core, actions, at):
    async def run(root):
        memory = written(root, {"MEMORY.md": core})
        await memory.open()
        journal = JournalRecorder()
        await change(memory, [action for action in actions if action[1] != "daily"], journal)
        lines = (root / "MEMORY.md").read_bytes().split(b"\n")
        lines.insert(at % (len(lines) + 1), THEIRS)
        (root / "MEMORY.md").write_bytes(b"\n".join(lines))
        result = await undo(memory, journal.changes[::-1])
        assert result.conflicts == []
        left = (root / "MEMORY.md").read_bytes().split(b"\n")
        left.remove(THEIRS)
        assert [line for line in left if line] == [line for line in core.split(b"\n") if line]

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
