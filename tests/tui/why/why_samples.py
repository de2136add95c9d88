"""Two small databases about one person's food, with vectors made by hand, and the room that tells why.

The memories and their vectors are made up; the tables are ZeroClaw's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from support.rooms import RoomApp
from support.small_store import add, blob, make

from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.recall import RecallRequest, Rule
from zeroclaw_tui.tui.rooms.why import WhyRoom
from zeroclaw_tui.tui.rooms.why.pane import Tab
from zeroclaw_tui.tui.view import Pace

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MESSAGE = "what does she like to eat?"
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


def _row(key: str, content: str, vector: tuple[float, ...] | None = None, **more: Any) -> dict[str, Any]:
    return {"key": key, "content": content, "embedding": blob(*vector) if vector else None} | more


MEALS = [
    _row("food_allergy", "Allergic to peanuts: careful what she gets to eat.", (0.9, 0.3, 0.1, 0.0)),
    _row("fav_food", "What does she like? Ramen and rust coloured plates to eat from.", (0.8, 0.5, 0.0, 0.2)),
    _row("lunch_2026_03", "Ordered sushi twice this week: what she likes to eat most.", (0.6, 0.7, 0.2, 0.1)),
    _row("market", "The farmers' market opens at eight.", (0.3, 0.9, 0.1, 0.0)),
    _row("cutlery", "Bought new chopsticks. She would like a wok as well."),
    _row("assistant_resp_9f3c", "Here is what she does like to eat: ramen, sushi, tofu.", (0.95, 0.1, 0.1, 0.0)),
    _row("timezone", "Zurich, two hours ahead of Lisbon in summer."),
    _row("old_diet", "She does like meat, what a surprise, to eat.", (0.85, 0.2, 0.0, 0.3), superseded_by="id-001"),
    _row(
        "dinner_plans", "What does she like to eat on Friday? Dumplings.", (0.7, 0.2, 0.5, 0.1), session_id="telegram_1"
    ),
    *(_row(f"recipe_{at:02}", f"To cook dish {at}, what one needs.", (0.2, 0.8, 0.1, at / 20)) for at in range(16)),
    _row(HOSTILE_KEY, HOSTILE_TEXT, (0.75, 0.4, 0.2, 0.1), session_id="s \x1b[31m\u202e"),
]
"""Rows for stages and prompt."""

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
"""Rows for what-if: key, content, category, cosine to any message, session, days of age."""

_VECTORS = {MESSAGE: (1.0, 0.0, 0.0, 0.0), SHOPPING: (0.0, 0.0, 1.0, 0.0), HOSTILE_MESSAGE: (1.0, 0.0, 0.0, 0.0)}


class ByHand(Embedder):
    """Vectors of the messages known here; of every other message none."""

    name = "by-hand"
    dimensions = 4

    def __init__(self) -> None:
        self.vectors: dict[str, tuple[float, ...]] = dict(_VECTORS)

    async def embed(self, text: str) -> np.ndarray:
        if text not in self.vectors:
            raise EmbeddingFailed("The endpoint does not know this message.", hint="Type another.")
        return np.array(self.vectors[text], dtype=np.float32)


class OneDirection(Embedder):
    """The vector every cosine of the aged rows is measured from."""

    name = "sample"
    dimensions = 2

    async def embed(self, text: str) -> np.ndarray:
        return np.array([1.0, 0.0], dtype=np.float32)


def aged(rows: Iterable[Sequence[Any]], *, with_vectors: bool = True, first: int = 0) -> list[dict[str, Any]]:
    """Rows for a database, numbered from `first`."""
    found = []
    for at, (key, content, category, cosine, session, days) in enumerate(rows, first):
        moment = (NOW - timedelta(days=days)).isoformat()
        row = {"id": f"id-{at:04d}", "key": key, "content": content, "category": category, "session_id": session}
        row |= {"created_at": moment, "updated_at": moment}
        if cosine is not None and with_vectors:
            row["embedding"] = blob(cosine, math.sqrt(1 - cosine**2))
        found.append(row)
    return found


class Kitchen:
    """A config dir on disk with a database; `embedder` None is a store without vectors."""

    def __init__(
        self,
        folder: Path,
        rows: Iterable[dict[str, Any]],
        embedder: Any = None,
        *,
        config: str = CONFIG,
        profile: str = "0.7.5",
    ) -> None:
        self.config_dir = folder / "zc"
        memory = self.config_dir / "workspace" / "memory"
        memory.mkdir(parents=True)
        self.database = make(memory / "brain.db", "G2", rows)
        self.config_file = self.config_dir / "config.toml"
        self.config_file.write_text(config)
        self.embedder = embedder
        self.profile = profile
        self.pace = Pace(debounce=0, poll=None, patience=30)

    @classmethod
    def of_meals(cls, folder: Path, profile: str = "0.7.5") -> Kitchen:
        """Rows with and without a vector, a superseded one, one of a session, an assistant's reply, a hostile one."""
        return cls(folder, MEALS, ByHand(), config=CONFIG + ENDPOINT, profile=profile)

    @classmethod
    def of_aged(cls, folder: Path, *, vectors: bool = True, config: str = CONFIG, profile: str = "0.7.5") -> Kitchen:
        """A hybrid store whose cosines are written down, with sessions, and one row that is too old."""
        rows = aged(AGED, with_vectors=vectors)
        return cls(folder, rows, OneDirection() if vectors else None, config=config, profile=profile)

    def add(self, *rows: dict[str, Any], start: int = 90) -> None:
        """More memories, written as another program would."""
        add(self.database, rows, start=start)

    def meal(self, key: str, content: str, vector: tuple[float, ...]) -> None:
        """One more memory among the meals."""
        self.add(_row(key, content, vector))

    async def open(self, **options: Any) -> Library:
        """The library."""
        given = OpenOptions(config_dir=self.config_dir, profile=self.profile, **options)
        config = configs_for(given, {"HOME": str(self.config_dir.parent)})[0]
        library = await open_library(config, self.profile)
        library.trash = Trash(config.install, library.trash.store, lambda: NOW)
        if self.embedder is not None:
            library.embedder, library.no_embedder_because = self.embedder, None
        return library

    def room(
        self,
        tab: Tab,
        key: str | None = None,
        message: str = MESSAGE,
        *,
        session: str | None = None,
        rule: Rule = "cli",
        **options: Any,
    ) -> RoomApp:
        """The room on this store, asked about the memory of a key; `options` are those the store is opened with."""
        request = RecallRequest(message, session_id=session, rule=rule)

        async def made() -> WhyRoom:
            library = await self.open(**options)
            entry = None if key is None else (await entries_with_key(library.memory, key))[0]
            return WhyRoom(library, tab, entry, request, lambda: NOW, self.pace)

        return RoomApp(made)
