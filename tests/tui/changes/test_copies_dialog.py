"""Places where a deleted text still is: what can be cleaned is asked about, cleaned, and undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from changes_samples import Sample
from support.rooms import WorkApp
from support.screens import WIDE, screen_text, screen_words
from support.settling import press, running
from tui_samples import STILL

from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.traces.copies import find_copies
from zeroclaw_tui.curation.traces.files import TextPlace
from zeroclaw_tui.tui.rooms.copies import clean

TEXT = "Likes ramen and rust coloured plates to eat from."
FIXED = TextPlace("backup", "/srv/[/foo]\x1b[31m.bak", None, False, "A backup that [bold]changes[/] is\x07 none.")


def cleaning(sample: Sample, copies: Sequence[TextPlace]) -> WorkApp:
    return WorkApp(lambda app: clean(app, sample.library, copies, STILL.patience))


def bytes_of(file: Path) -> bytes:
    return file.read_bytes()


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """An archived day that holds the text."""
    archive = tmp_path / "workspace" / "memory" / "archive"
    archive.mkdir(parents=True)
    file = archive / "2026-10-01.md"
    file.write_text(f"# Daily Log\n\n- {TEXT}\n- Something else.\n")
    return file


@pytest.fixture
async def found(tmp_path: Path, archived: Path) -> tuple[Sample, list[TextPlace]]:
    """A library whose folders are real, and the copies found there."""
    sample = Sample(tmp_path, location=str(tmp_path))
    copies = await find_copies(sample.library, [TEXT])
    assert [(one.kind, one.place, one.count, one.can_clean) for one in copies] == [("archive", str(archived), 1, True)]
    return sample, copies


async def test_what_can_be_cleaned_is_cleaned_after_a_yes(
    found: tuple[Sample, list[TextPlace]], archived: Path
) -> None:
    sample, copies = found
    before = bytes_of(archived)
    async with running(cleaning(sample, [FIXED, *copies]), WIDE) as (app, pilot):
        assert "The text is still in 2 places" in screen_words(app)
        assert "A backup that [bold]changes[/] is␇ none." in screen_words(app)
        assert not {"\x1b", "\x07"} & set(screen_text(app))
        await press(pilot, "enter")
    assert app.given == [None]
    assert bytes_of(archived) == before
    async with running(cleaning(sample, [FIXED, *copies]), WIDE) as (app, pilot):
        await press(pilot, "y")
        assert "ramen" not in bytes_of(archived).decode()
        assert "Something else." in bytes_of(archived).decode()
    assert app.given == ["✓ Cleaned 1 copy. · u reverses that."]
    await undo(sample.library)
    assert bytes_of(archived) == before


async def test_where_nothing_can_be_cleaned_there_is_no_question(
    found: tuple[Sample, list[TextPlace]], archived: Path
) -> None:
    """Nothing was found, or the store is only read."""
    sample, copies = found
    async with running(cleaning(sample, [])) as (app, pilot):
        assert "No other copies were found." in screen_words(app)
        await press(pilot, "y", "escape")
    sample.memory.why_not = {**sample.memory.why_not, "write": "It was opened with --read-only."}
    async with running(cleaning(sample, copies), WIDE) as (app, pilot):
        assert "It was opened with --read-only." in screen_words(app)
        await press(pilot, "y", "enter")
    assert app.given == [None]
    assert "ramen" in bytes_of(archived).decode()
