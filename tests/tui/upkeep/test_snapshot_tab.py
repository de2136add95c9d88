"""The snapshot as a person uses it: comparing, bringing in, writing, taking back."""

from __future__ import annotations

import asyncio

import pytest
from support.screens import WIDE
from support.settling import press, running, settled, until
from upkeep_samples import HOSTILE, Home

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.formats.snapshot import read_snapshot
from zeroclaw_tui.tui.rooms.upkeep import UpkeepRoom


async def test_the_title_counts_the_differences_and_each_is_shown_line_by_line(home: Home) -> None:
    """Only what is in the snapshot can be marked."""
    async with running(home.app(), WIDE) as (app, pilot):
        title = "MEMORY_SNAPSHOT.md of 2026-11-20 21:04: 7 core memories; 2 only here, 2 only there, 2 changed"
        assert title in app.words
        assert "6 differences" in app.words
        for _ in range(6):
            if "- two eggs" in app.words:
                break
            await press(pilot, "j")
        assert "- - two eggs" in app.words
        assert "+ - an egg" in app.words
        await press(pilot, "F")
        assert "rule !" in app.words
        assert "old_car" not in app.words
        await press(pilot, "space")
        assert "is not in the snapshot" in app.told
        assert "marked:" not in app.words
        await press(pilot, "left", "asterisk")
        assert "● 4 marked. Press ⏎ to import" in app.words
        await press(pilot, "backslash")
        assert "marked:" not in app.words


THERE, HERE = "Allergic to peanuts.", "Allergic to peanuts and shellfish."
POLICIES = {
    "s": (HERE, set()),
    "o": (THERE, set()),
    "r": (HERE, {"food_allergy (imported d364)", "recipe (imported b397)"}),
}
"""Skip, overwrite, rename: the allergy that is kept, and the keys that are new besides those of the snapshot."""


async def test_the_marked_come_in_by_the_policy_chosen_and_go_back_with_u(home: Home) -> None:
    """Nothing by accident."""
    async with running(home.app()) as (app, pilot):
        before = set(await app.keys())

        async def allergy() -> str:
            entry = await app.library.memory.get("food_allergy")
            assert entry is not None
            return entry.content

        await press(pilot, "asterisk")
        for key in ("enter", "n", "escape"):
            await press(pilot, "enter")
            assert "2 new · 2 whose key is taken" in app.words
            await press(pilot, key)
            assert set(await app.keys()) == before
        for key, (kept, more) in POLICIES.items():
            await press(pilot, "backslash", "asterisk", "enter", key)
            assert set(await app.keys()) == before | {"old_car", "pet"} | more, app.told
            assert await allergy() == kept
            assert "u reverses that" in app.told
            await press(pilot, "u")
            assert set(await app.keys()) == before
            assert await allergy() == HERE
        await press(pilot, "escape")
        assert app.given == [True]


async def test_enter_brings_in_the_row_under_the_cursor(home: Home) -> None:
    async with running(home.app()) as (app, pilot):
        await press(pilot, "F", "F", "enter", "y")
        assert "Imported 1 memory" in app.told
        assert len({*await app.keys()} & {"old_car", "pet"}) == 1


async def test_another_programs_file_is_only_replaced_after_a_yes_of_its_own(home: Home) -> None:
    home.snapshot.write_text("# My notes\n", encoding="utf-8")
    async with running(home.app()) as (app, pilot):
        assert "is not a snapshot of ZeroClaw's" in app.words
        for answers, is_replaced in (("n",), False), (("y", "n"), False), (("y", "R"), True):
            await press(pilot, "W", *answers)
            assert (home.snapshot.read_text(encoding="utf-8") != "# My notes\n") is is_replaced


async def test_the_snapshot_is_written_and_the_old_one_comes_back_with_u(home: Home) -> None:
    old = home.snapshot.read_bytes()
    async with running(home.app()) as (app, pilot):
        await press(pilot, "W")
        assert "Write 7 memories to MEMORY_SNAPSHOT.md?" in app.words
        assert "2 memories lose something in ZeroClaw's format." in app.words
        assert "MEMORY_SNAPSHOT.jsonl is written too" in app.words
        await press(pilot, "y")
        assert home.side_car.exists()
        written = read_snapshot(home.snapshot.read_text(encoding="utf-8"))
        assert {entry.key for entry in written.rows} == {key for key, _ in home.here}
        assert "Store and snapshot have the same 7 memories." in app.words
        await press(pilot, "u")
        assert home.snapshot.read_bytes() == old
        assert not home.side_car.exists()
        assert "2 only there" in app.words


async def test_a_snapshot_can_be_written_where_there_is_none(home: Home) -> None:
    home.snapshot.unlink()
    async with running(home.app()) as (app, pilot):
        assert "Press W to write it from the core memories" in app.words
        await press(pilot, "W", "y")
        assert home.snapshot.exists()
        assert "have the same 7 memories" in app.words


async def test_another_file_is_compared_with_and_not_taken_for_zeroclaws_own(home: Home) -> None:
    other = home.config_dir / "older.md"
    home.snapshot.rename(other)
    async with running(home.app(), WIDE) as (app, pilot):
        await app.screen.run_command("open_file")
        await settled(pilot)
        await press(pilot, "enter")
        assert "Enter a path." in app.words
        await press(pilot, "=~/.zeroclaw/older.md", "enter")
        assert "older.md of 2026-11-20 21:04: 7 memories; 2 only here" in app.words
        await app.screen.run_command("open_file")
        await settled(pilot)
        await press(pilot, "=~/nowhere.jsonl", "enter")
        assert "There is no file" in app.words
        assert "snapshot_enabled" not in app.words
        assert "writes it from the core memories" not in app.words


async def test_a_store_that_is_only_read_is_compared_and_not_written(home: Home) -> None:
    home.config = MemoryConfig(home.config.install, read_only=True)
    old = home.snapshot.read_bytes()
    async with running(home.app(), WIDE) as (app, pilot):
        await press(pilot, "W", "enter")
        assert app.told.count("read-only") >= 2
        assert "2 changed" in app.words
    assert home.snapshot.read_bytes() == old


async def test_what_cannot_be_read_any_more_is_told_and_what_was_shown_stays(home: Home) -> None:
    async with running(home.app(), WIDE) as (app, pilot):
        home.snapshot.unlink()
        await press(pilot, "r")
        assert "r to retry" in app.words
        assert "food_allergy" in app.words
        home.write_snapshot()
        await press(pilot, "r")
        assert "r to retry" not in app.words


async def test_hostile_memories_reach_no_terminal(home: Home) -> None:
    secret = "The key is sk-abcdefghijklmnopqrstuvwxyz0123 and postgres://me:geheim@host/db"
    home.there = (("escape", HOSTILE), ("k" * 300, "long"), ("宽字符", "全角" * 80), ("secret", secret))
    home.write_snapshot()
    async with running(home.app(), WIDE) as (app, pilot):
        for key in "jjjjjjjjjjj":
            shown = "".join(app.lines)
            assert not any(sign in shown for sign in "\x1b\x07\x9b\u202e")
            assert "geheim" not in shown
            await press(pilot, key)


async def test_what_a_room_still_looks_at_ends_with_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer would come to a room whose lists have gone."""
    async with running(home.app()) as (app, pilot):
        never, room = asyncio.Event(), app.screen
        monkeypatch.setattr(app.library.memory, "scan", lambda *given: never.wait())
        assert isinstance(room, UpkeepRoom)
        await pilot.press("r")
        await until(pilot, lambda: [one for one in app.workers if one.group == "snapshot-load"])
        looking = [one for one in app.workers if one.group == "snapshot-load"]
        room.action_leave()
        assert [one.is_cancelled for one in looking] == [True]
