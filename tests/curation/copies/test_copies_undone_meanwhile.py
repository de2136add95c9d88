"""A cleaned file that another program writes at the very moment it is put back."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from copies_samples import SECRET, Place
from support.racing import after_recording

from zeroclaw_tui.curation import side_files
from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.copies.copies import clean_copies, find_copies
from zeroclaw_tui.curation.copies.texts import Text
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Conflicts, Journal, OnConflict
from zeroclaw_tui.memory.errors import Refused

BEFORE = f"- **door**: {SECRET}\n- rest\n"
THEIRS = "- rest\n- **new**: from the agent\n"


@dataclass
class Cleaned:
    """Notes out of which a text was cut, and the library that can take that back."""

    notes: Path
    library: Library

    def held(self, end: str = "") -> str:
        """What the notes say, or the file beside them whose name ends so."""
        return self.notes.with_name(self.notes.name + end).read_text()

    def rewrite(self) -> None:
        """Write them as the agent does."""
        self.notes.write_text(THEIRS)


@pytest.fixture
async def cleaned(place: Place) -> AsyncIterator[Cleaned]:
    notes = place.write("MEMORY.md", BEFORE)
    notes.chmod(0o640)
    async with place.opened() as library:
        copies = await find_copies(library, [Text("id-gone", "door", SECRET)])
        assert (await clean_copies(library, copies)).count == 1
        yield Cleaned(notes, library)


def write_once_kept(monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Let the agent be quicker: after the trash has what goes, before the file is replaced."""
    left = [write]
    after_recording(monkeypatch, lambda: left.pop()() if left else None)


async def test_what_is_written_after_the_look_stays_and_the_undo_is_still_there(
    cleaned: Cleaned, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back = side_files.restore_files

    async def putting(files: Any, journal: Journal, on_conflict: OnConflict) -> list[str]:
        cleaned.rewrite()
        return await put_back(files, journal, on_conflict)

    with monkeypatch.context() as patched:
        patched.setattr("zeroclaw_tui.curation.changes.restore_files", putting)
        with pytest.raises(Conflicts, match=r"MEMORY\.md"):
            await undo(cleaned.library)
    assert cleaned.held() == THEIRS
    await undo(cleaned.library, on_conflict="overwrite")
    assert cleaned.held() == BEFORE
    assert [path.name for path in cleaned.notes.parent.glob("*MEMORY*")] == ["MEMORY.md"]


@pytest.mark.parametrize("on_conflict", ["refuse", "rename"])
async def test_what_is_written_last_of_all_stays_and_the_old_comes_beside_it(
    cleaned: Cleaned, monkeypatch: pytest.MonkeyPatch, on_conflict: OnConflict
) -> None:
    write_once_kept(monkeypatch, cleaned.rewrite)
    outcome = await undo(cleaned.library, on_conflict=on_conflict)
    assert (cleaned.held(), cleaned.held(".restored-1")) == (THEIRS, BEFORE)
    assert stat.S_IMODE(cleaned.notes.with_name("MEMORY.md.restored-1").stat().st_mode) == 0o640
    assert "in MEMORY.md.restored-1 next to it" in outcome.notes[0]


async def test_with_overwrite_what_was_written_last_of_all_is_kept_first(
    cleaned: Cleaned, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_once_kept(monkeypatch, cleaned.rewrite)
    await undo(cleaned.library, on_conflict="overwrite")
    assert cleaned.held() == BEFORE
    assert any(THEIRS.encode() in file.read_bytes() for file in cleaned.library.trash.file.parent.iterdir())


async def test_a_name_taken_last_of_all_is_left_to_whoever_took_it(
    cleaned: Cleaned, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned.rewrite()
    with pytest.raises(Conflicts, match=r"MEMORY\.md"):
        await undo(cleaned.library)
    taken = cleaned.notes.with_name("MEMORY.md.restored-1")
    write_once_kept(monkeypatch, lambda: taken.write_text("theirs too"))
    await undo(cleaned.library, on_conflict="rename")
    assert [cleaned.held(end) for end in ("", ".restored-1", ".restored-2")] == [THEIRS, "theirs too", BEFORE]


async def test_a_file_that_is_rewritten_without_end_is_given_up(
    cleaned: Cleaned, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = iter(range(1000))
    replace_bytes = side_files.replace_bytes

    def beaten(*given: Any, **named: Any) -> None:
        cleaned.notes.write_text(f"{next(written)}")
        replace_bytes(*given, **named)

    monkeypatch.setattr(side_files, "replace_bytes", beaten)
    with pytest.raises(Refused, match="rewritten all the time"):
        await undo(cleaned.library, on_conflict="overwrite")
    assert cleaned.held().isdigit()


async def test_a_file_that_was_gone_comes_back_for_those_who_might_read_it(cleaned: Cleaned) -> None:
    cleaned.notes.unlink()
    with pytest.raises(Conflicts):
        await undo(cleaned.library)
    await undo(cleaned.library, on_conflict="overwrite")
    assert cleaned.held() == BEFORE
    assert stat.S_IMODE(cleaned.notes.stat().st_mode) == 0o640
