"""A database about one person's food, with vectors made by hand, and the screens that explain it.

The memories and their vectors are made up; the tables are ZeroClaw's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from support.small_store import add, blob, make
from tui_trash_samples import NOW, Clock, ScreenApp

from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.curation.trash.trash import Trash
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.explanation import Explanation, Step
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.explain import ExplainScreen
from zeroclaw_tui.tui.screens.prompt import PromptScreen

MESSAGE = "what does she like to eat?"
HOSTILE_MESSAGE = "[/x] [@click=app.bell()]eat[/] \u202egnp.exe 全角文字 " + "long " * 60
HOSTILE_KEY = "[/foo] \x1b[31mred\x1b]0;title\x07 \u202egnp\u202c 宽字符 " + "k" * 300
HOSTILE_TEXT = "She likes [bold]ramen[/] \x1b[2J\x07\x9b2J \u202enemar\u202c 全角 \x00 to eat " + "宽字" * 300
SHOPPING = "new chopsticks and a wok"
_VECTORS = {MESSAGE: (1.0, 0.0, 0.0, 0.0), SHOPPING: (0.0, 0.0, 1.0, 0.0), HOSTILE_MESSAGE: (1.0, 0.0, 0.0, 0.0)}
_CONFIG = """default_temperature = 0.7
[memory]
backend = "sqlite"
auto_save = true
embedding_provider = "custom:http://127.0.0.1:9/v1"
embedding_model = "by-hand"
embedding_dimensions = 4
"""


def _row(key: str, content: str, vector: tuple[float, ...] | None = None, **more: Any) -> dict[str, Any]:
    return {"key": key, "content": content, "embedding": blob(*vector) if vector else None} | more


ROWS = [
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


class ByHand:
    """Vectors of the messages known here; of every other message none."""

    name = "by-hand"
    dimensions = 4
    is_remote = False

    async def embed(self, text: str) -> np.ndarray:
        if text not in _VECTORS:
            raise EmbeddingFailed("The endpoint does not know this message.", hint="Type another.")
        return np.array(_VECTORS[text], dtype=np.float32)

    async def close(self) -> None:
        """Nothing to let go of."""


class Kitchen:
    """The database on disk; `library` is it, opened by the rules of 0.7.5."""

    def __init__(self, folder: Path) -> None:
        self.config_dir = folder / "zc"
        memory = self.config_dir / "workspace" / "memory"
        memory.mkdir(parents=True)
        self.database = make(memory / "brain.db", "G2", ROWS)
        (self.config_dir / "config.toml").write_text(_CONFIG)
        self.clock = Clock(NOW)
        self.pace = Pace(debounce=0, poll=None, patience=30)
        self.embedder = ByHand()
        self.library: Library | None = None

    def add(self, key: str, content: str, vector: tuple[float, ...]) -> None:
        """One more memory, written as another program would."""
        add(self.database, [_row(key, content, vector)], start=90)

    async def open(self, profile: str = "0.7.5", **options: Any) -> Library:
        """Open it."""
        given = OpenOptions(config_dir=self.config_dir, profile=profile, **options)
        config = configs_for(given, {"HOME": str(self.config_dir.parent)})[0]
        self.library = await open_library(config, profile)
        self.library.embedder = self.embedder
        self.library.trash = Trash(config.install, self.library.trash.store, self.clock)
        return self.library

    async def entry(self, key: str) -> MemoryEntry:
        """The memory of a key."""
        assert self.library is not None
        (found,) = await self.library.memory.with_key(key)
        return found

    def explaining(self, key: str, message: str = MESSAGE, profile: str = "0.7.5", **asked: Any) -> ScreenApp:
        """The explanation of one memory."""
        kept: list[MemoryEntry] = []

        async def before() -> None:
            await self.open(profile)
            kept.append(await self.entry(key))

        def screen() -> ExplainScreen:
            assert self.library is not None
            return ExplainScreen(self.library, kept[0], RecallRequest(message, **asked), self.clock, self.pace)

        return KitchenApp(self, screen, before)

    def prompting(self, message: str = MESSAGE, profile: str = "0.7.5", **asked: Any) -> ScreenApp:
        """The prompt before a message."""

        def screen() -> PromptScreen:
            assert self.library is not None
            return PromptScreen(self.library, RecallRequest(message, **asked), self.clock, self.pace)

        return KitchenApp(self, screen, partial(self.open, profile))


class KitchenApp(ScreenApp):
    """One screen on the store, which is let go of in the event loop it was opened in."""

    def __init__(self, kitchen: Kitchen, make_screen: Callable[[], Any], before: Callable[[], Any]) -> None:
        super().__init__(make_screen, before)
        self._kitchen = kitchen

    async def on_unmount(self) -> None:
        if self._kitchen.library is not None:
            await self._kitchen.library.close()


MISS = (
    Step("words", "passed", "matches “like” (in 8 of 26 memories, 0.72 of 0.72) – not in it: what, does, she, to, eat"),
    Step("keyword", "passed", "bm25 0.72 of 1.44 = 0.50 · rank 5 of 9", {"bm25": 0.72, "score": 0.5}),
    Step(
        "vector", "absent", "no embedding on this row (stored while embeddings were off)", {"why": "no embedding"},
        "re-embed it", "R",
    ),
    Step("fusion", "passed", "0.7 × – + 0.3 × 0.50 = 0.15", {"score": 0.15}),
    Step("threshold", "stopped", "0.15 < 0.40", {"score": 0.15}, "a threshold of 0.15, or other weights", "w"),
)  # fmt: skip
HIT = (
    Step("words", "passed", "matches “eat” – not in it: what, does, like"),
    Step("keyword", "passed", "bm25 1.44, the best, is 1.00 · rank 1 of 9", {"bm25": 1.44, "score": 1.0}),
    Step("vector", "passed", "cosine 0.91 · rank 2 of 22", {"cosine": 0.91}),
    Step("fusion", "passed", "0.7 × 0.91 + 0.3 × 1.00 = 0.94", {"score": 0.94}),
    Step("threshold", "passed", "0.94 ≥ 0.40", {"score": 0.94}),
    Step("prompt", "passed", "entry 1 of 3"),
)


class Told:
    """Explanations told by the test: `steps` for every question, `trials` are the questions.

    While `waits` is set a question waits for it; `failure` is raised in place of an answer.
    """

    def __init__(self) -> None:
        self.steps: tuple[Step, ...] = MISS
        self.trials: list[Trial] = []
        self.waits: dict[str, asyncio.Event] = {}
        self.failure: Exception | None = None
        self.more: dict[str, Any] = {}

    async def explain(self, library: Library, entry: MemoryEntry, trial: Trial) -> Explanation:
        self.trials.append(trial)
        query = trial.request.query
        if query in self.waits:
            await self.waits[query].wait()
        if self.failure is not None:
            raise self.failure
        stopped = next((step.name for step in self.steps if step.mark == "stopped"), None)
        told = Explanation(
            entry=entry,
            query=query,
            profile=trial.profile.version,
            profile_source="assumed",
            rule=trial.request.rule,
            layer="agent",
            steps=self.steps,
            verdict=f"About “{query}”: " + ("its score 0.15 does not reach 0.40." if stopped else "entry 1 of 3."),
            stopped_at=stopped,  # type: ignore[arg-type]
            place=None if stopped else 1,
            injected=3,
            remarks=("In this scoring a hit without a vector can reach at most 0.30.",),
        )
        return replace(told, **self.more)

    @property
    def asked(self) -> list[str]:
        """The messages, as they came."""
        return [trial.request.query for trial in self.trials]
