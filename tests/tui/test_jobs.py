"""The five jobs that people come for, from the first key to what is in the store afterwards, and the keys each takes.

Text that is typed, a name or a message, counts for nothing; the digits of a number that confirms do.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from support.inspector import running
from support.libraries import PurgePlan, remove_memories
from support.questions import MemoryFilter
from support.stores import versions
from tui.installs import DiskInstall
from tui.samples import NOW

from zeroclaw_tui.curation.journal import Trash

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


@pytest.fixture
def install(tmp_path: Path) -> DiskInstall:
    """Notes, replies of the agent that were saved by themselves, and a session, whose memories were stored last."""
    columns = ("key", "content", "category", "session_id")
    return DiskInstall(tmp_path, [dict(zip(columns, row, strict=True)) for row in ROWS], generation="G1")


async def do(install: DiskInstall, *keys: str, count: int, shows: str | tuple[str, ...] = ()) -> None:
    """Do a job with so many keys; what begins with "=" is typed as text."""
    assert sum(not key.startswith("=") for key in keys) == count
    async with running(install.app(), (120, 30)) as screen:
        await screen.press(*keys, shows=shows)


async def test_a_memory_is_found_and_corrected_with_four_keys(install: DiskInstall) -> None:
    corrected = "Bought new chopsticks for the kitchen. Six pairs."
    await do(install, "slash", "=chopsticks", "enter", "e", "= Six pairs.", "ctrl+s", count=4, shows=corrected[11:])
    assert install.contents()["cutlery"] == corrected


async def test_all_of_a_session_goes_with_six_keys(install: DiskInstall) -> None:
    await do(install, "full_stop", "asterisk", "d", "1", "2", "enter", count=6)
    assert sorted(install.contents()) == sorted(key for key, _, _, session in ROWS if session != "telegram_77")


async def test_why_a_memory_was_not_recalled_takes_four_keys(install: DiskInstall) -> None:
    """What was searched for is its name and no message: the message can be typed at once."""
    before, message = install.contents(), "what does she like to eat"
    answer = f"“cutlery” is not in the prompt for “{message}”"
    keys = ("slash", "=cutlery", "enter", "x", f"={message}", "enter")
    await do(install, *keys, count=4, shows=(answer, "no keyword match"))
    assert install.contents() == before


async def test_what_was_saved_by_itself_is_cleaned_up_with_five_keys(install: DiskInstall) -> None:
    await do(install, "3", "d", "1", "4", "enter", count=5, shows="no findings")
    assert not [key for key in install.contents() if key.startswith("assistant_resp")]
    assert len(install.contents()) == len(ROWS) - 14


async def test_yesterdays_purge_comes_back_with_one_key_and_its_answer(install: DiskInstall) -> None:
    """The key alone would bring back unseen what was purged in another session; it asks, and says what."""
    before = install.contents()
    library = await install.open()
    library.trash = Trash(library.config.install, library.trash.store, lambda: NOW - timedelta(hours=18))
    talk = await versions(library.memory, MemoryFilter(session=("telegram_77",)))
    await remove_memories(library, PurgePlan(tuple(talk)), "purge")
    await library.close()
    assert len(install.contents()) == len(ROWS) - 12
    await do(install, "u", count=1, shows="Undo: deleted 12 memories")
    await do(install, "u", "y", count=2)
    assert install.contents() == before
