"""A cleaned file that another program writes at the very moment it is put back."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from copies_samples import SECRET, Place

from zeroclaw_tui.curation import side_files as files_beside
from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.copies.copies import clean_copies, find_copies
from zeroclaw_tui.curation.copies.texts import Text
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Clash, Clashes, Keep, RowChange
from zeroclaw_tui.memory.errors import Refused

Make = Callable[..., Place]
BEFORE = f"- **door**: {SECRET}\n- rest\n"
THEIRS = "- rest\n- **new**: from the agent\n"


async def cleaned(library: Library) -> None:
    copies = await find_copies(library, [Text("id-gone", "door", SECRET)])
    assert (await clean_copies(library, copies)).count == 1


def write_after_the_look(monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Let the agent be quicker: before anything is kept."""
    put_back = files_beside.put_files_back

    async def putting(files: Any, keep: Keep, clash: Clash) -> list[str]:
        write()
        return await put_back(files, keep, clash)

    monkeypatch.setattr("zeroclaw_tui.curation.changes.put_files_back", putting)


def write_once_kept(monkeypatch: pytest.MonkeyPatch, library: Library, write: Callable[[], object]) -> None:
    """Let the agent be quicker still: after the trash has what goes, before the file is replaced."""
    keeper = library.trash.keeper
    left = [write]

    def keeping(action: int) -> Keep:
        keep = keeper(action)

        def and_write(changes: Sequence[RowChange]) -> None:
            keep(changes)
            if left:
                left.pop()()

        return and_write

    monkeypatch.setattr(library.trash, "keeper", keeping)


async def test_what_is_written_after_the_look_stays_and_the_undo_is_still_there(
    make_place: Make, open_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place()
    notes = place.write("MEMORY.md", BEFORE)
    async with open_place(place) as library:
        await cleaned(library)
        with monkeypatch.context() as patched:
            write_after_the_look(patched, lambda: notes.write_text(THEIRS))
            with pytest.raises(Clashes, match=r"MEMORY\.md"):
                await undo(library)
        assert notes.read_text() == THEIRS
        await undo(library, clash="overwrite")
        assert notes.read_text() == BEFORE
    assert [path.name for path in place.root.glob("*MEMORY*")] == ["MEMORY.md"]


@pytest.mark.parametrize("clash", ["refuse", "rename"])
async def test_what_is_written_last_of_all_stays_and_the_old_comes_beside_it(
    make_place: Make, open_place: Any, monkeypatch: pytest.MonkeyPatch, clash: Clash
) -> None:
    place = make_place()
    notes = place.write("MEMORY.md", BEFORE)
    notes.chmod(0o640)
    async with open_place(place) as library:
        await cleaned(library)
        write_once_kept(monkeypatch, library, lambda: notes.write_text(THEIRS))
        outcome = await undo(library, clash=clash)
    beside = place.root / "MEMORY.md.restored-1"
    assert (notes.read_text(), beside.read_text()) == (THEIRS, BEFORE)
    assert stat.S_IMODE(beside.stat().st_mode) == 0o640
    assert "beside it in MEMORY.md.restored-1" in outcome.notes[0]


async def test_with_overwrite_what_was_written_last_of_all_is_kept_first(
    make_place: Make, open_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place()
    notes = place.write("MEMORY.md", BEFORE)
    async with open_place(place) as library:
        await cleaned(library)
        write_once_kept(monkeypatch, library, lambda: notes.write_text(THEIRS))
        await undo(library, clash="overwrite")
        assert notes.read_text() == BEFORE
        files = [library.trash.file, library.trash.file.with_name(f"{library.trash.file.name}-wal")]
        assert any(THEIRS.encode() in file.read_bytes() for file in files if file.exists())


async def test_a_name_taken_last_of_all_is_left_to_whoever_took_it(
    make_place: Make, open_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place()
    notes = place.write("MEMORY.md", BEFORE)
    async with open_place(place) as library:
        await cleaned(library)
        notes.write_text(THEIRS)
        write_once_kept(monkeypatch, library, lambda: place.write("MEMORY.md.restored-1", "theirs too"))
        await undo(library, clash="rename")
    held = [(place.root / f"MEMORY.md{end}").read_text() for end in ("", ".restored-1", ".restored-2")]
    assert held == [THEIRS, "theirs too", BEFORE]


async def test_a_file_that_is_rewritten_without_end_is_given_up(
    make_place: Make, open_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place()
    notes = place.write("MEMORY.md", BEFORE)
    async with open_place(place) as library:
        await cleaned(library)
        written = iter(range(1000))

        replace_bytes = files_beside.replace_bytes

        def beaten(*given: Any, **named: Any) -> None:
            notes.write_text(f"{next(written)}")
            replace_bytes(*given, **named)

        monkeypatch.setattr(files_beside, "replace_bytes", beaten)
        with pytest.raises(Refused, match="rewritten all the time"):
            await undo(library, clash="overwrite")
    assert notes.read_text().isdigit()


async def test_a_file_that_was_gone_comes_back_for_those_who_might_read_it(make_place: Make, open_place: Any) -> None:
    place = make_place()
    notes = place.write("MEMORY.md", BEFORE)
    notes.chmod(0o640)
    async with open_place(place) as library:
        await cleaned(library)
        notes.unlink()
        with pytest.raises(Clashes):
            await undo(library)
        await undo(library, clash="overwrite")
    assert notes.read_text() == BEFORE
    assert stat.S_IMODE(notes.stat().st_mode) == 0o640
