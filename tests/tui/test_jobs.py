"""Five common tasks, from the first key to the resulting store, with the number of keys of each.

Typed text such as a name or a message does not count; the digits of a confirmation do.
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
    """Notes, auto-saved replies of the agent, and the memories of a session, which were stored last."""
    columns = ("key", "content", "category", "session_id")
    return DiskInstall(tmp_path, [dict(zip(columns, row, strict=True)) for row in ROWS], generation="G1")


async def do_job(install: DiskInstall, *keys: str, count: int, shows: str | tuple[str, ...] = ()) -> None:
    """Do a task with this number of keys; text after "=" is typed and not counted."""
    assert sum(not key.startswith("=") for key in keys) == count
    async with running(install.app(), (120, 30)) as screen:
        await screen.press(*keys, shows=shows)


async def test_finding_and_correcting_a_memory_takes_four_keys(install: DiskInstall) -> None:
    corrected = "Bought new chopsticks for the kitchen. Six pairs."
    await do_job(install, "slash", "=chopsticks", "enter", "e", "= Six pairs.", "ctrl+s", count=4, shows=corrected[11:])
    assert install.contents()["cutlery"] == corrected


async def test_deleting_all_memories_of_a_session_takes_six_keys(install: DiskInstall) -> None:
    await do_job(install, "full_stop", "asterisk", "d", "1", "2", "enter", count=6)
    assert sorted(install.contents()) == sorted(key for key, _, _, session in ROWS if session != "telegram_77")


async def test_finding_why_a_memory_was_not_recalled_takes_four_keys(install: DiskInstall) -> None:
    """The searched text is a key, not a message, so the message can be typed at once."""
    before, message = install.contents(), "what does she like to eat"
    answer = f"“cutlery” is not in the prompt for “{message}”"
    keys = ("slash", "=cutlery", "enter", "x", f"={message}", "enter")
    await do_job(install, *keys, count=4, shows=(answer, "no keyword match"))
    assert install.contents() == before


async def test_a_recall_says_only_once_that_there_are_no_embeddings(install: DiskInstall) -> None:
    async with running(install.app(), (120, 30)) as screen:
        await screen.press("slash", "=chopsticks", "enter", shows="1 shown of")
        assert screen.words.count("no embeddings configured") == 1


async def test_cleaning_up_auto_saved_memories_takes_five_keys(install: DiskInstall) -> None:
    await do_job(install, "3", "d", "1", "4", "enter", count=5, shows="no findings")
    assert not [key for key in install.contents() if key.startswith("assistant_resp")]
    assert len(install.contents()) == len(ROWS) - 14


async def test_undoing_yesterdays_purge_takes_one_key_and_a_confirmation(install: DiskInstall) -> None:
    """The purge was made in another session, so the key asks first and names it."""
    before = install.contents()
    library = await install.open()
    library.trash = Trash(library.config.install, library.trash.store, lambda: NOW - timedelta(hours=18))
    talk = await versions(library.memory, MemoryFilter(session=("telegram_77",)))
    await remove_memories(library, PurgePlan(tuple(talk)), "purge")
    await library.close()
    assert len(install.contents()) == len(ROWS) - 12
    await do_job(install, "u", count=1, shows="Undo: deleted 12 memories")
    await do_job(install, "u", "y", count=2)
    assert install.contents() == before
