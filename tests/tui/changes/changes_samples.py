"""A trash on disk with what a person deleted over some weeks, and an app that shows one screen on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.journal_records import Verb
from zeroclaw_tui.curation.library import Library, ProfileChoice
from zeroclaw_tui.memory.change import Row, RowChange, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STORE = "in-memory:this process"
BROWSER_SHEET = Path(__file__).parents[3] / "zeroclaw_tui" / "tui" / "rooms" / "browser.tcss"

HOSTILE = (
    ("[/markup]", "[/foo] [bold]not bold[/] [@click=app.bell()]no link[/] [", "core"),
    ("escape", "before \x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x1b\\ after\x9b2J\r\x08\x00 end", "core"),
    ("bidi", "user \u202egnp.exe\u202c and \u2066isolated\u2069 \u200frtl", "daily"),
    ("k" * 300, "A key of three hundred letters.", "notes"),
    ("", "A memory whose key is empty.", "core"),
    ("emoji 👩‍👩‍👧‍👦", "Family 👩‍👩‍👧‍👦, flag 🇫🇷, zalgo Z̸̡̢̧͎͙͚͈̦͚̞̘", "notes"),
    ("宽字符", "全角文字也要对齐：" + "宽" * 80, "daily"),
    ("surrogate \udc80", "lone \udcff surrogate", "core"),
    ("blank", "", "core"),
)
NAMED = (
    ("food_allergy", "Allergic to peanuts, careful with satay and mole. Carries an antihistamine.", "core"),
    ("fav_food", "Likes ramen and rust coloured plates to eat from.", "core"),
    ("lunch_2026_11", "Ordered sushi twice this week: what she likes to eat most.", "daily"),
    ("market", "The farmers' market opens at eight and has things to eat.", "notes"),
    ("cutlery", "Bought new chopsticks. She said she would like a wok as well.", "daily"),
)


class Clock:
    """A moment that a test moves."""

    def __init__(self, moment: datetime = NOW) -> None:
        self.moment = moment

    def __call__(self) -> datetime:
        return self.moment


def row(number: int, key: str, content: str, category: str = "core", **more: Value) -> Row:
    """A memory as its store held it, created a few weeks before."""
    created = (NOW - timedelta(days=60, minutes=number)).isoformat()
    values: dict[str, Value] = {
        "id": row_id(number),
        "key": key,
        "content": content,
        "category": category,
        "created_at": created,
        "updated_at": created,
        "session_id": None,
        "namespace": "default",
        "importance": None,
        "superseded_by": None,
        "pinned": None,
        "embedding": None,
    }
    return Row(row_id(number), values | more, number)


def row_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def chat_rows(count: int) -> list[Row]:
    return [
        row(1000 + number, f"user_msg_{number:04}", f"Asked about topic {number % 17}.", "conversation")
        for number in range(count)
    ]


def named_rows() -> list[Row]:
    return [
        row(number, *parts, session_id="telegram_12345" if number % 2 else None, embedding=bytes(4 * 256))
        for number, parts in enumerate(NAMED, 1)
    ]


def hostile_rows() -> list[Row]:
    return [row(100 + number, *parts) for number, parts in enumerate(HOSTILE)]


class Sample:
    """A library around an in-memory store, with a real trash in a folder of its own."""

    def __init__(self, folder: Path, entries: Iterable[MemoryEntry] = (), location: str = "/srv/zeroclaw") -> None:
        place = Path(location)
        install = Install(
            config_dir=place / ".zeroclaw",
            root=place / "workspace",
            database=place / "workspace" / "memory" / "brain.db",
            layout="workspace",
            rule="the default place",
            own_dir=folder / "own",
        )
        self.clock = Clock()
        self.install = install
        self.memory = InMemory(entries, clock=self.clock)
        self.trash = Trash(install, STORE, self.clock)
        self.library = Library(
            config=MemoryConfig(install),
            memory=self.memory,
            profile=ProfileChoice(profile_for("0.6.2"), "assumed"),
            settings=ScoringSettings(),
            embedder=None,
        )
        self.library.trash = self.trash

    async def journaled(
        self,
        verb: Verb,
        changes: Sequence[RowChange],
        ago: timedelta,
        summary: str = "",
        store: str = STORE,
    ) -> int:
        """Note an action as if it had been done so long ago."""
        trash = Trash(self.install, store, Clock(NOW - ago))
        action = await trash.begin(verb, summary or f"{verb} {len(changes)}")
        await asyncio.to_thread(action.record, changes)
        await action.finish()
        return action.number

    async def deleted(
        self, rows: Sequence[Row], ago: timedelta, verb: Verb = "forget", summary: str = "", store: str = STORE
    ) -> int:
        """Note a deletion as if it had been done so long ago."""
        return await self.journaled(verb, [RowChange(one, None) for one in rows], ago, summary, store)
