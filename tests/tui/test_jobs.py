"""The five jobs that people come for, from the first key to what is in the store afterwards, and the keys each takes.

Text that is typed, a name or a message, counts for nothing; the digits of a number that confirms do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.inspector import running
from support.screens import screen_words
from support.settling import settled
from textual.pilot import Pilot
from tui.samples import NOW, DiskInstall

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.curation.changes import remove_memories
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.purge_plan import plan_of
from zeroclaw_tui.memory.query import MemoryFilter

ROWS = (
    *((f"note_{at:02}", f"The garden gate number {at} is to be oiled in spring.", "core", "web_1") for at in range(9)),
    ("cutlery", "Bought new chopsticks for the kitchen.", "core", None),
    ("fav_food", "Likes ramen, and to eat it from rust coloured plates.", "core", None),
    *(
        (f"assistant_resp_{at:02}", f"Of course, here are plans for the evening of day {at}.", "conversation", None)
        for at in range(14)
    ),
    *((f"talk_{at:02}", f"What was said at noon about trip {at}.", "daily", "telegram_77") for at in range(12)),
)


class Hand:
    """Presses keys and counts them; what is typed as text is not counted."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self._pilot = pilot
        self.keys = 0

    async def press(self, *keys: str) -> None:
        """Keys, each once what the one before set off has been answered."""
        for key in keys:
            self.keys += 1
            await self._pilot.press(key)
            await settled(self._pilot)

    async def type(self, text: str) -> None:
        """A text, letter by letter."""
        await self._pilot.press(*("space" if letter == " " else letter for letter in text))
        await settled(self._pilot)

    @property
    def words(self) -> str:
        """What is on the screen."""
        return screen_words(self._pilot.app)


@pytest.fixture
def install(tmp_path: Path) -> DiskInstall:
    """Notes, replies of the agent that were saved by themselves, and a session, whose memories were stored last."""
    columns = ("key", "content", "category", "session_id")
    return DiskInstall(tmp_path, [dict(zip(columns, row, strict=True)) for row in ROWS], generation="G1")


@asynccontextmanager
async def hand_at(install: DiskInstall) -> AsyncIterator[Hand]:
    """A hand at the inspector, which is open with its list."""
    async with running(install.app(), (120, 30)) as screen:
        yield Hand(screen.pilot)


async def test_a_memory_is_found_and_corrected_with_four_keys(install: DiskInstall) -> None:
    async with hand_at(install) as hand:
        await hand.press("slash")
        await hand.type("chopsticks")
        await hand.press("enter", "e")
        await hand.type(" Six pairs.")
        await hand.press("ctrl+s")
        assert "chopsticks for the kitchen. Six pairs." in hand.words
        assert hand.keys == 4
    assert install.contents()["cutlery"] == "Bought new chopsticks for the kitchen. Six pairs."


async def test_all_of_a_session_goes_with_six_keys(install: DiskInstall) -> None:
    async with hand_at(install) as hand:
        await hand.press("full_stop", "asterisk", "d", "1", "2", "enter")
        assert hand.keys == 6
    assert sorted(install.contents()) == sorted(key for key, _, _, session in ROWS if session != "telegram_77")


async def test_why_a_memory_was_not_recalled_takes_four_keys(install: DiskInstall) -> None:
    """What was searched for is its name and no message: the message can be typed at once."""
    before = install.contents()
    async with hand_at(install) as hand:
        await hand.press("slash")
        await hand.type("cutlery")
        await hand.press("enter", "x")
        await hand.type("what does she like to eat")
        await hand.press("enter")
        assert "“cutlery” is not in the prompt for “what does she like to eat”" in hand.words
        assert "no keyword match" in hand.words
        assert hand.keys == 4
    assert install.contents() == before


async def test_what_was_saved_by_itself_is_cleaned_up_with_five_keys(install: DiskInstall) -> None:
    async with hand_at(install) as hand:
        await hand.press("3", "d", "1", "4", "enter")
        assert "no findings" in hand.words
        assert hand.keys == 5
    assert not [key for key in install.contents() if key.startswith("assistant_resp")]
    assert len(install.contents()) == len(ROWS) - 14


async def test_yesterdays_purge_comes_back_with_one_key_and_its_answer(install: DiskInstall) -> None:
    """The key alone would bring back unseen what was purged in another session; it asks, and says what."""
    before = install.contents()
    library = await install.open()
    library.trash = Trash(library.config.install, library.trash.store, lambda: NOW - timedelta(hours=18))
    talk = await versions(library.memory, MemoryFilter(session=("telegram_77",)))
    await remove_memories(library, plan_of(talk), "purge")
    await library.close()
    assert len(install.contents()) == len(ROWS) - 12
    async with hand_at(install) as hand:
        await hand.press("u")
        assert "Undo: deleted 12 memories" in hand.words
        await hand.press("y")
        assert hand.keys == 2
    assert install.contents() == before
