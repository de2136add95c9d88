"""The changes room: list, undo, redo, restore, permanent deletion, copies and erasing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.inspector import running
from support.screens import WIDE
from tui.installs import DiskInstall
from tui.samples import Trashed


@pytest.fixture
def sample(tmp_path: Path) -> Trashed:
    return Trashed(tmp_path)


async def test_every_change_is_a_line_that_u_undoes_and_capital_u_redoes(sample: Trashed) -> None:
    """The newest first; a purge is one change. The trash is emptied only after its number is typed."""
    await sample.purge_and_store()
    async with running(sample.room(), WIDE) as screen:
        lines = [" ".join(line[:86].split()) for line in screen.lines]
        assert lines[1] == "3 changes · newest first"
        assert [line for line in lines if "stored tz" in line or "deleted 12" in line or "edited" in line] == [
            "▌2 h stored tz 1",
            "1 d deleted 12 memories 12",
            "3 d edited user_msg_0000 (content, category) 1",
        ]
        await screen.press("j", "j", shows="- Asked about topic 0. + Asked about bread. + And butter.")
        await screen.press("k", shows=("12 rows", "- user_msg_0003 Asked about topic 3."))
        await screen.press("u", shows="Undid: deleted 12 memories.")
        assert len(await sample.memory.list()) == 13
        screen.shows("deleted 12 memories 12 undone")
        await screen.press("u", says="Already undone. Press U to redo.")
        await screen.press("U", shows="Redid: deleted 12 memories.")
        assert len(await sample.memory.list()) == 1
        await screen.press("U", says="Not undone, so there is nothing to redo.")
        for number, left in ("11", 12), ("12", 0):
            await screen.command("empty")
            await screen.press(f"={number}", "enter", *(["escape"] if left else []))
            assert len(await sample.trash.numbers()) == left
        screen.says("12 memories are deleted permanently.")
        await screen.command("empty")
        screen.says("The trash is empty.")
        await screen.press("escape")
    assert screen.app.given == [True]


async def test_enter_opens_the_rows_of_a_change_and_enter_restores_one(sample: Trashed) -> None:
    """A double click opens a change too."""
    await sample.purge_and_store()
    async with running(sample.room()) as screen:
        await screen.pilot.click("#list", offset=(12, 3), times=2)
        await screen.settle()
        screen.shows("deleted 12 memories · 2026-11-19 12:00")
        await screen.press("escape", "enter", "enter", "j", "enter")
        screen.shows("Restored user_msg_0001.", "deleted 12 memories · 2026-11-19 12:00 · 2 of 12 undone")
        assert {one.key for one in await sample.memory.list()} == {"tz", "user_msg_0000", "user_msg_0001"}
        await screen.press("enter", says="Only a deleted memory is restored by itself.")
        await screen.press("G", "u", shows="Undo the whole change: deleted 12 memories?")
        await screen.press("n", "escape")
        assert len(await sample.memory.list()) == 3
        screen.shows("deleted 12 memories 12 2 of 12 undone")


@pytest.mark.parametrize(
    ("answer", "contents", "said"),
    [
        ("n", ["new"], ""),
        ("o", ["old"], "Restored fav_food."),
        ("b", ["new", "old"], "Restored fav_food. fav_food is now"),
    ],
    ids=["leave", "overwrite", "rename"],
)
async def test_undo_asks_about_a_key_that_exists_again(
    sample: Trashed, answer: str, contents: list[str], said: str
) -> None:
    await sample.memory.store("fav_food", "old", "core")
    await sample.delete((await sample.memory.list())[0].id)
    await sample.memory.store("fav_food", "new", "core")
    async with running(sample.room()) as screen:
        await screen.press("t", "enter")
        screen.shows("1 memory cannot be restored as it was", "the key exists again", "- new + old")
        await screen.press(answer, shows=said)
        assert sorted(one.content for one in await sample.memory.list()) == contents
        await screen.press("escape", "escape")
    assert screen.app.given == [bool(said)]


async def test_a_change_of_thousands_of_rows_shows_the_first(sample: Trashed) -> None:
    await sample.purge_chat(3000)
    async with running(sample.room()) as screen:
        await screen.press("enter", "G", shows=("the first 1,000", "user_msg_0999"))
        await screen.press("escape", "t", shows="3,000 memories in the trash · the first 1,000")


async def test_an_unreadable_trash_is_reported_and_r_tries_again(sample: Trashed) -> None:
    await sample.purge_and_store()
    there = sample.trash.file.read_bytes()
    for file in sample.library.config.install.own_dir.glob("trash.db-*"):
        file.unlink()
    sample.trash.file.write_bytes(b"no database" * 1000)
    async with running(sample.room()) as screen:
        screen.shows("✗", "trash.db")
        sample.trash.file.write_bytes(there)
        await screen.press("r", hides="✗", shows="stored tz")


async def test_the_changes_of_one_memory_are_listed_with_lines_and_fields(sample: Trashed) -> None:
    async with running(sample.room(await sample.purge_chat(12)), WIDE) as screen:
        lines = [line[:80].split() for line in screen.lines]
        assert ["▌1", "d", "-", "purge", "user_msg_0000"] in [line[:5] for line in lines]
        assert ["3", "d", "~", "edit", "user_msg_0000"] in [line[:5] for line in lines]
        screen.shows("2 changes of user_msg_0000", "only changes made with this program")
        await screen.press("G", shows=("category chat → daily", "- Asked about topic 0. + Asked about bread."))


PIER, RUST = "I met Zebediah Q at the [bold]pier[/]", "Prefers Rust over C++ for tools on the command line."


@pytest.fixture
def kept(clean_environment: Path) -> DiskInstall:
    """Three memories; a prompt file contains the content of one, and an archived day that of another."""
    rows = [
        {"key": "met", "content": PIER},
        {"key": "lang", "content": RUST},
        {"key": "call", "content": "Zebediah Q rang"},
    ]
    install = DiskInstall(clean_environment, rows, generation="G4")
    install.write("USER.md", PIER)
    install.write("memory/archive/2026-10-01.md", f"# Daily Log\n\n- {RUST}\n- Something else.\n")
    return install


async def test_other_copies_of_a_text_are_cleaned_after_yes_and_can_be_restored(kept: DiskInstall) -> None:
    before = kept.files()
    async with running(kept.app(), WIDE) as screen:
        await screen.command("copies")
        screen.shows("No other copies were found.")
        await screen.press("escape", "j")
        for answer in ("enter", "escape"):
            await screen.command("copies")
            screen.shows("The text is still in 1 place", "archive/2026-10-01.md")
            await screen.press(answer)
            assert kept.files() == before
        await screen.command("copies")
        await screen.press("y", says="✓ Cleaned 1 copy. · u reverses that.")
        assert kept.files()["memory/archive/2026-10-01.md"].split("\n") == ["# Daily Log", "", "- Something else.", ""]
        await screen.press("u")
        assert kept.files() == before


async def test_a_text_is_erased_everywhere_after_a_typed_confirmation(kept: DiskInstall) -> None:
    """Without marks and text the memory under the cursor is erased; cancelling at any step changes nothing."""
    before = kept.contents(), kept.files()
    async with running(kept.app(), WIDE) as screen:
        await screen.press("j")
        for typed, found in (
            ("=nobody has this", "Found nowhere; searched"),
            ("=ZEBEDIAH Q", "2 memories will be deleted: met, call"),
            ("=", "1 memory will be deleted: lang"),
        ):
            await screen.command("erase")
            screen.shows("Erase a text from the whole install", "empty to erase the memory lang and its text")
            await screen.press(typed, "enter", shows=found)
            await screen.press("escape")
        await screen.press("G", "space")
        await screen.command("erase")
        screen.shows("Erase 1 memory and its text from the whole install")
        await screen.press("=zebediah q", "enter", shows="Found in 2 places; can be erased in 2")
        screen.shows("This cannot be undone", "Type erase to erase.")
        await screen.press("=no", "enter", shows="The word does not match.")
        assert (kept.contents(), kept.files()) == before
        await screen.press("ctrl+u", "=erase", "enter")
        assert "zebediah" not in screen.words.lower()
        await screen.press("escape")
    assert kept.contents() == {"lang": RUST}
