"""Installs on disk: kitchen memories to explain, stores that need upkeep, and a trace of turns."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support import small_store
from support.files import put
from support.inspector import RoomApp
from support.libraries import Library, open_library
from support.memories import MemoryEntry
from support.places import MemoryConfig, OpenOptions
from support.questions import RecallRequest, Rule
from support.small_store import blob
from support.stores import entries_with_key
from support.traces import Sent, call_line
from tui.samples import NOW, STILL, SampleEmbedder

from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.formats.snapshot import NAME, snapshot_text
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms import upkeep
from zeroclaw_tui.tui.rooms.live import LiveRoom
from zeroclaw_tui.tui.rooms.upkeep import UpkeepRoom
from zeroclaw_tui.tui.rooms.why import WhyRoom
from zeroclaw_tui.tui.rooms.why.answers import Tab
from zeroclaw_tui.tui.view import Pace

Row = dict[str, Any]
MESSAGE = "what does she like to eat?"


class DiskInstall:
    """A config dir on disk with a database, which is in the folder data from ZeroClaw 0.8 (generation G4) on."""

    def __init__(
        self,
        folder: Path,
        rows: Iterable[Row] = (),
        *,
        generation: str = "G2",
        config: str = '[memory]\nbackend = "sqlite"\n',
        profile: str | None = None,
        clock: Callable[[], datetime] = lambda: NOW,
        embedder: Embedder | None = None,
        pace: Pace = STILL,
    ) -> None:
        self.config_dir = folder / ".zeroclaw"
        self.root = self.config_dir / ("data" if generation == "G4" else "workspace")
        self.database = self.root / "memory" / "brain.db"
        self.config_file = self.config_dir / "config.toml"
        self.profile, self.clock, self.embedder, self.pace = profile, clock, embedder, pace
        self.database.parent.mkdir(parents=True, mode=0o700)
        self.config_file.write_text(("schema_version = 3\n" if generation == "G4" else "") + config)
        small_store.make(self.database, generation, rows)

    async def open(self, **options: Any) -> Library:
        """Open the library, with its trash using the clock of the test."""
        given = OpenOptions(config_dir=self.config_dir, profile=self.profile, **options)
        config = configs_for(given, {"HOME": str(self.config_dir.parent)})[0]
        library = await open_library(config, self.profile)
        library.trash = Trash(config.install, library.trash.store, self.clock)
        if self.embedder is not None:
            library.embedder, library.no_embedder_because = self.embedder, None
        return library

    def app(self, **options: Any) -> InspectorApp:
        """Return the inspector on this install."""
        install = self

        class InstallApp(InspectorApp):
            async def open_library(self, config: MemoryConfig) -> Library:
                return await install.open(**options)

        given = OpenOptions(config_dir=self.config_dir, profile=self.profile, **options)
        app = InspectorApp if self.embedder is None else InstallApp
        return app(given, clock=self.clock, pace=self.pace)

    def room(self, make: Callable[[Library], Any], **options: Any) -> RoomApp:
        """Return an app with one room, which closes its library; `make` may be a coroutine function."""

        async def made() -> Any:
            room = make(await self.open(**options))
            return await room if isinstance(room, Awaitable) else room

        return RoomApp(made)

    def why(
        self, tab: Tab, key: str | None = None, message: str = MESSAGE, *,
        session: str | None = None, rule: Rule = "cli", **options: Any,
    ) -> RoomApp:  # fmt: skip
        """Return the room that explains the memory of a key; `options` are those with which the store is opened."""

        async def made(library: Library) -> WhyRoom:
            entry = None if key is None else (await entries_with_key(library.memory, key))[0]
            request = RecallRequest(message, session_id=session, rule=rule)
            return WhyRoom(library, tab, entry, request, self.clock, self.pace)

        return self.room(made, **options)

    def upkeep(self, tab: upkeep.Tab) -> RoomApp:
        """Return the upkeep room."""
        return self.room(lambda library: UpkeepRoom(library, tab, self.clock, self.pace))

    def live(self, poll: float | None = None) -> RoomApp:
        """Return the live room."""
        return self.room(lambda library: LiveRoom(library, self.clock, Pace(debounce=0.0, poll=poll)))

    def write(self, name: str, text: str) -> Path:
        """Write a file below the data folder."""
        return put(self.root / name, text)

    def files(self) -> dict[str, str]:
        """Return every text file below the data folder, by path."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file() and "brain.db" not in path.name)
        return {str(path.relative_to(self.root)): path.read_text() for path in found}

    def rows(self, columns: str = "rowid, *") -> list[tuple[Any, ...]]:
        """Return the rows of the memories, read as by another program."""
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(f"SELECT {columns} FROM memories ORDER BY rowid").fetchall()

    def contents(self) -> dict[str, str]:
        """Return the content of each memory, by key."""
        return dict(self.rows("key, content"))


SHOPPING = "new chopsticks and a wok"
HOSTILE_MESSAGE = "[/x] [@click=app.bell()]eat[/] \u202egnp.exe 全角文字 " + "long " * 60
HOSTILE_KEY = "[/foo] \x1b[31mred\x1b]0;title\x07 \u202egnp\u202c 宽字符 " + "k" * 300
HOSTILE_TEXT = "She likes [bold]ramen[/] \x1b[2J\x07\x9b2J \u202enemar\u202c 全角 \x00 to eat " + "宽字" * 300
CONFIG = """# the kitchen's agent
default_temperature = 0.7

[memory]
backend = "sqlite"   # one file is enough
auto_save = true
# found by trying
min_relevance_score = 0.4
"""
ENDPOINT = """embedding_provider = "custom:http://127.0.0.1:9/v1"
embedding_model = "by-hand"
embedding_dimensions = 4
"""


def meal(key: str, content: str, vector: tuple[float, ...] | None = None, **more: Any) -> Row:
    """Return a row with a hand-made vector."""
    return {"key": key, "content": content, "embedding": blob(*vector) if vector else None} | more


MEALS = [
    meal("food_allergy", "Allergic to peanuts: careful what she gets to eat.", (0.9, 0.3, 0.1, 0.0)),
    meal("fav_food", "What does she like? Ramen and rust coloured plates to eat from.", (0.8, 0.5, 0.0, 0.2)),
    meal("lunch_2026_03", "Ordered sushi twice this week: what she likes to eat most.", (0.6, 0.7, 0.2, 0.1)),
    meal("market", "The farmers' market opens at eight.", (0.3, 0.9, 0.1, 0.0)),
    meal("cutlery", "Bought new chopsticks. She would like a wok as well."),
    meal("assistant_resp_9f3c", "Here is what she does like to eat: ramen, sushi, tofu.", (0.95, 0.1, 0.1, 0.0)),
    meal("timezone", "Zurich, two hours ahead of Lisbon in summer."),
    meal("old_diet", "She does like meat, what a surprise, to eat.", (0.85, 0.2, 0.0, 0.3), superseded_by="id-001"),
    meal(
        "dinner_plans", "What does she like to eat on Friday? Dumplings.", (0.7, 0.2, 0.5, 0.1), session_id="telegram_1"
    ),
    *(meal(f"recipe_{at:02}", f"To cook dish {at}, what one needs.", (0.2, 0.8, 0.1, at / 20)) for at in range(16)),
    meal(HOSTILE_KEY, HOSTILE_TEXT, (0.75, 0.4, 0.2, 0.1), session_id="s \x1b[31m\u202e"),
]
AGED = (
    ("food_allergy", "Allergic to peanuts, careful with satay and mole.", "core", 0.91, "telegram_12345", 262),
    ("fav_food", "She does like ramen and rust coloured plates to eat from.", "core", 0.69, None, 262),
    ("lunch_2026_03", "Ordered sushi twice this week.", "core", 0.50, "telegram_12345", 250),
    ("market", "The farmers' market opens at eight.", "core", 0.44, None, 80),
    ("cutlery", "Bought chopsticks: she would like to eat with these.", "core", None, None, 12),
    ("wok", "She wants a wok as well.", "core", 0.30, "cli", 5),
    ("tz", "Timezone is EST, but she travels in spring.", "core", 0.12, None, 200),
    ("soup", "Made soup with what was left.", "daily", 0.72, "telegram_12345", 3),
    ("assistant_resp_9f", "You could eat ramen again, she does like it.", "conversation", 0.45, "cli", 1),
)
"""Key, content, category, cosine to any message, session, days of age."""


def food_install(folder: Path) -> DiskInstall:
    """Create rows with and without a vector, a superseded, a session's, an assistant's and a hostile one."""
    east = (1.0, 0.0, 0.0, 0.0)
    vectors = {MESSAGE: east, HOSTILE_MESSAGE: east, SHOPPING: (0.0, 0.0, 1.0, 0.0)}
    return DiskInstall(folder, MEALS, config=CONFIG + ENDPOINT, profile="0.7.5", embedder=SampleEmbedder(4, vectors))


def aged_install(folder: Path, *, vectors: bool = True, profile: str = "0.7.5") -> DiskInstall:
    """Create a store with given cosines, with sessions, and with one row that is too old."""
    rows = []
    for at, (key, content, category, cosine, session, days) in enumerate(AGED):
        moment = (NOW - timedelta(days=days)).isoformat()
        row = {"id": f"id-{at:04d}", "key": key, "content": content, "category": category, "session_id": session}
        vector = blob(cosine, math.sqrt(1 - cosine**2)) if cosine is not None and vectors else None
        rows.append(row | {"created_at": moment, "updated_at": moment, "embedding": vector})
    return DiskInstall(folder, rows, config=CONFIG, profile=profile, embedder=SampleEmbedder(2) if vectors else None)


SECRET = "sk-proj-9fK2mQ7xT4bV1nC8zR5wY3aL6dJ0"
FILES = {
    "memory/2026-11-02.md": "# Two\n- ramen\n",
    "memory/2026-11-09.md": "# Nine\n- a walk\n",
    "memory/2026-11-15.md": "# Fifteen\n- too new to go today\n",
    "memory/2026-11-20.md": "# Today\n",
    "memory/archive/2026-10-01.md": "# October\n",
    "memory/archive/2026-11-01.md": "# Still kept\n",
    "sessions/2026-11-03-chat.jsonl": "{}\n",
    "MEMORY.md": "# Curated\n",
    "state/memory_hygiene_state.json": """{"last_run_at": "2026-11-20T01:04:00.000000000+00:00", "last_report": {
    "archived_memory_files": 2, "archived_session_files": 0, "purged_memory_archives": 1,
    "purged_session_archives": 0, "pruned_conversation_rows": 41}}""",
}
RECIPE = "# Ramen\n\n- broth\n- noodles\n- an egg\n\nServe hot.\n"
SAME = {"tz": "Timezone is EST", "editor": "Prefers a dark theme", "tea": "Drinks green tea in the morning"}
STORED = SAME | {
    "food_allergy": "Allergic to peanuts and shellfish.",
    "recipe": RECIPE.replace("an egg", "two eggs\n- nori"),
    "phone": "Bought a new phone in November",
    "rule": "first\n---\nsecond",
}
SAVED = SAME | {
    "food_allergy": "Allergic to peanuts.",
    "recipe": RECIPE,
    "old_car": "Drives an old car",
    "pet": "Has a cat called Momo",
}
"""The contents of a store and of its snapshot."""


def polluted_rows() -> list[Row]:
    """Return fourteen replies, three equal memories, two further equal ones, a secret, and two clean memories."""
    replies = [
        meal(f"assistant_resp_{at:02d}", f"Here are some ideas about topic number {at} " + "word " * at)
        for at in range(14)
    ]
    food = "She likes ramen and rust coloured plates to eat from."
    return [
        *({**row, "category": "conversation"} for row in replies),
        *(meal(f"food_{at}", food, category=category) for at, category in enumerate(("core", "daily", "notes"))),
        *(meal(f"tz_{at}", "Her time zone is that of New York, all year.") for at in range(2)),
        meal("provider", f"The key of the provider is {SECRET}, kept since March."),
        meal("cutlery", "Bought new chopsticks and a wok for the kitchen in Lisbon."),
        meal("market", "The farmers' market opens at eight on Saturdays only.", category="notes"),
    ]


def chat(number: int, days: int, **more: Any) -> Row:
    """Return a conversation row last updated this many days ago."""
    at = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000000000+00:00")
    row = meal(f"user_msg_{number}", f"What about topic {number}?", category="conversation", id=f"chat-{number}")
    return row | {"created_at": at, "updated_at": at} | more


def old_install(folder: Path, rows: Iterable[Row] = (), files: dict[str, str] | None = None) -> DiskInstall:
    """Create an install with old files and rows for hygiene to archive and delete, and some that it keeps."""
    config = 'default_temperature = 0.7\n[memory]\nbackend = "sqlite" # mine\nauto_save = true\n'
    rows = rows or [chat(1, 40), chat(2, 35), chat(3, 28)]
    made = DiskInstall(folder, rows, config=config, profile="0.7.5")
    for name, text in (FILES if files is None else files).items():
        os.utime(made.write(name, text), (1_760_000_000, 1_760_000_000))
    return made


def snapshot_install(folder: Path) -> DiskInstall:
    """Create a store and the snapshot that ZeroClaw wrote a day and a half ago, before some changes."""
    rows = [*(meal(key, content) for key, content in STORED.items()), {"key": "chat", "category": "daily"}]
    made = DiskInstall(folder, rows, generation="G1", clock=lambda: datetime(2026, 11, 22, 9, tzinfo=UTC))
    write_snapshot(made, SAVED)
    return made


def write_snapshot(install: DiskInstall, there: dict[str, str]) -> Path:
    """Write MEMORY_SNAPSHOT.md with these contents by key, as ZeroClaw does."""
    moment = "2026-11-01T08:00:00+00:00"
    entries = [MemoryEntry(f"id-{key}", key, content, "core", moment, moment) for key, content in there.items()]
    return install.write(NAME, snapshot_text(entries, datetime(2026, 11, 20, 21, 4, tzinfo=UTC)))


LIVE_NOW = datetime(2026, 8, 22, 18, 0, tzinfo=UTC)
SESSION = "gw_0b6e3c1e-7f1d-4a55-9c0e"
MADE_AT = datetime(2026, 8, 1, 10, 0, tzinfo=UTC)
TALKED = {
    "food_allergy": "Allergic to peanuts, careful with satay and mole.",
    "fav_food": "Likes ramen and rust coloured plates to eat from.",
    "lang": "Prefers Rust over C++ for new programs.",
    "tz": "Timezone is EST, but travels in spring.",
    "ferry": "Takes the ferry to the island every second Friday.",
    "dentist": "Dentist appointments only in the morning.",
}


def block(*keys: str) -> str:
    """Return the block that ZeroClaw >= 0.6.3 sends for these memories."""
    return "[Memory context]\n" + "".join(f"- {key}: {TALKED[key]}\n" for key in keys) + "[/Memory context]\n\n"


def minutes_ago(minutes: float) -> str:
    """Return a time in the format of the trace."""
    return (LIVE_NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def call(query: str, sent: str, minutes: float = 1, *, session: str | None = None) -> str:
    """Return a trace line of ZeroClaw 0.8.4 with log_llm_request_payload = "full"."""
    return call_line(Sent(query, sent, at=LIVE_NOW - timedelta(minutes=minutes), session=session)) + "\n"


def some_turns() -> list[str]:
    """Return turns of two agents: two as predicted, one different, and one without a block."""
    return [
        call("Which language for the new program?", block("lang"), 90, session=SESSION),
        call("What does she like to eat?", block("fav_food"), 60, session=SESSION),
        call("When does the ferry to the island go?", block("ferry", "dentist"), 20, session=SESSION),
        call("Thanks!", "", 4),
    ]


def recorded_install(folder: Path, turns: Iterable[str] = ()) -> DiskInstall:
    """Create a config dir of ZeroClaw 0.8.4 with a trace of turns."""
    made = MADE_AT.isoformat()
    more = {"session_id": SESSION, "created_at": made, "updated_at": made}
    rows = [meal(key, content, id=f"id-{key}", **more) for key, content in TALKED.items()]
    install = DiskInstall(folder, rows, generation="G4", profile="0.8.4", clock=lambda: LIVE_NOW)
    # As old as the memories, since turns sent under another config are not compared.
    os.utime(install.config_file, (MADE_AT.timestamp(),) * 2)
    install.write("state/runtime-trace.jsonl", "")
    record(install, *turns)
    return install


def record(install: DiskInstall, *lines: str) -> None:
    """Add lines to the trace, as ZeroClaw does."""
    with (install.root / "state" / "runtime-trace.jsonl").open("a") as file:
        file.writelines(lines)
