"""An install with memories and a trace of ZeroClaw 0.8.4 that grows, and the room of turns on it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support import small_store
from support.rooms import RoomApp
from support.traces import Sent, call_line

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.tui.rooms.live import LiveRoom
from zeroclaw_tui.tui.view import Pace

NOW = datetime(2026, 8, 22, 18, 0, tzinfo=UTC)
SESSION = "gw_0b6e3c1e-7f1d-4a55-9c0e"
MADE_AT = datetime(2026, 8, 1, 10, 0, tzinfo=UTC)
MADE = "2026-08-01T10:00:00.000000001+00:00"
MEMORIES = (
    ("food_allergy", "Allergic to peanuts, careful with satay and mole."),
    ("fav_food", "Likes ramen and rust coloured plates to eat from."),
    ("lang", "Prefers Rust over C++ for new programs."),
    ("tz", "Timezone is EST, but travels in spring."),
    ("ferry", "Takes the ferry to the island every second Friday."),
    ("dentist", "Dentist appointments only in the morning."),
)
CONFIG = """schema_version = 3

[memory]
backend = "sqlite"
"""


def block(*keys: str) -> str:
    """The block that ZeroClaw >= 0.6.3 sends for these memories."""
    contents = dict(MEMORIES)
    lines = "".join(f"- {key}: {contents[key]}\n" for key in keys)
    return f"[Memory context]\n{lines}[/Memory context]\n\n"


def at(minutes: float) -> str:
    """A moment before NOW, as the trace writes it."""
    return (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def call(query: str, sent: str, minutes: float = 1, *, session: str | None = None) -> str:
    """A line of the trace of ZeroClaw 0.8.4 with log_llm_request_payload = "full"."""
    return call_line(Sent(query, sent, at=NOW - timedelta(minutes=minutes), session=session)) + "\n"


class Place:
    """A config dir of ZeroClaw 0.8.4."""

    def __init__(self, folder: Path) -> None:
        self.config_dir = folder / ".zeroclaw"
        self.data = self.config_dir / "data"
        self.database = self.data / "memory" / "brain.db"
        self.trace = self.data / "state" / "runtime-trace.jsonl"
        self.config = self.config_dir / "config.toml"
        for file in (self.database, self.trace):
            file.parent.mkdir(parents=True)
        self.config.write_text(CONFIG)
        # As old as the memories: what was sent under another config is not compared.
        os.utime(self.config, (MADE_AT.timestamp(),) * 2)
        rows = [
            {"id": f"id-{key}", "key": key, "content": content, "session_id": SESSION}
            | {"created_at": MADE, "updated_at": MADE}
            for key, content in MEMORIES
        ]
        small_store.make(self.database, "G4", rows)

    def write(self, lines: Iterable[str]) -> None:
        """Add lines to the trace, as ZeroClaw does."""
        with self.trace.open("a") as file:
            file.writelines(lines)

    async def library(self, profile: str = "0.8.4") -> Library:
        """It, opened."""
        config = configs_for(OpenOptions(config_dir=self.config_dir))[0]
        return await open_library(config, profile)


def some_turns() -> list[str]:
    """Two as predicted, one not, one for which nothing was sent, of two agents."""
    return [
        call("Which language for the new program?", block("lang"), 90, session=SESSION),
        call("What does she like to eat?", block("fav_food"), 60, session=SESSION),
        call("When does the ferry to the island go?", block("ferry", "dentist"), 20, session=SESSION),
        call("Thanks!", "", 4),
    ]


STILL = Pace(debounce=0.0, poll=None)
FOLLOWING = Pace(debounce=0.0, poll=0.05)


def live_app(place: Place, pace: Pace = STILL) -> RoomApp:
    """The room of turns on it."""

    async def made() -> LiveRoom:
        return LiveRoom(await place.library(), lambda: NOW, pace)

    return RoomApp(made)
