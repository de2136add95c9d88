"""When the lucid program is asked, what its answer adds to the local hits, and the rest it gets after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from zeroclaw_tui.backends.base import StoreRecall
from zeroclaw_tui.backends.clock import local_now
from zeroclaw_tui.backends.lucid import context, words
from zeroclaw_tui.backends.lucid.program import MOST_BYTES, Answer, run
from zeroclaw_tui.backends.lucid.settings import LucidSettings
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotReachable, SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.keywords import lists_recent
from zeroclaw_tui.scoring.profiles import ScoringProfile

_DEFAULT_NAMESPACE = "default"
_PARSED_AT_ONCE = 50_000
"""Up to so many characters are read in well under a frame; more go to a thread."""


@dataclass(frozen=True, slots=True)
class Question:
    """A recall as the bridge has it: the request, the limit of the recall within, and what holds for its version."""

    request: RecallRequest
    limit: int
    profile: ScoringProfile
    settings: LucidSettings
    project: Path
    has_namespaces: bool

    @property
    def is_kept_from_agents(self) -> bool:
        """Whether what lucid adds reaches no agent, and this asks what does: ZeroClaw >= 0.8.0 always names one."""
        return self.request.layer == "agent" and self.profile.agent_scope != "none"

    def arguments(self) -> list[str]:
        """What the program is called with; ZeroClaw >= 0.7.5 asks for the newest, "*", with an empty text."""
        query = self.request.query
        if self.profile.star_lists_recent and lists_recent(query, self.profile):
            query = ""
        project = words.path_text(self.project)
        return ["context", query, f"--budget={self.settings.budget}", f"--project={project}"]


class Asking:
    """One bridge's questions to the program: its last answer, its last failure, and what runs now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed_at: float | None = None
        self._asked = 0
        self._answered: dict[str, MemoryEntry] = {}
        self._running: set[asyncio.Task[Answer]] = set()

    def seconds_of_rest(self, settings: LucidSettings) -> float:
        """For how many more seconds the program is not asked; 0 when it is."""
        if self._failed_at is None:
            return 0.0
        return max(0.0, self._failed_at + settings.failure_cooldown_ms / 1000 - self._clock())

    def answered(self) -> tuple[MemoryEntry, ...]:
        """What lucid gave when it was last asked and had something."""
        return tuple(self._answered.values())

    def stop(self) -> None:
        """End every program that runs; whoever waits for one gets SearchInterrupted."""
        for task in self._running:
            task.cancel()

    async def completed(self, question: Question, local: StoreRecall) -> StoreRecall:
        """The local recall with what lucid adds, and a note on why it does or does not."""
        found, notes = await self._found(question, len(local.entries))
        if not found:
            kept = _picked(local.entries, question)
            return replace(local, entries=kept, notes=(*local.notes, *notes))
        if question.is_kept_from_agents:
            found = [replace(row, withheld=words.WITHHELD) for row in found]
        rows = context.merged(local.entries, found, question.limit)
        if question.profile.has_time_bounds:
            rows = list(filter(context.within_bounds(question.request), rows))
        kept = _picked(rows, question)
        self._remember(found)
        stages = {row.stage for row in kept}
        if context.STAGE not in stages:
            return replace(local, entries=kept, notes=(*local.notes, *notes))
        if question.profile.agent_scope != "none":
            notes.append(words.NOT_THE_AGENTS)
        is_alone = len(stages) == 1
        mode = context.STAGE if is_alone else local.mode
        scale = f"lucid {context.SCALE}" if is_alone else f"{local.scale}; lucid {context.SCALE}"
        return StoreRecall(kept, mode, scale, (*local.notes, *notes))

    async def _found(self, question: Question, hits: int) -> tuple[list[ScoredEntry], list[str]]:
        """What the program gives, where it is asked, and what a person should know about that."""
        settings, request = question.settings, question.request
        because = words.not_asked(hits, question.limit, settings.local_hit_threshold)
        if because is None and request.agents and question.profile.agent_scope != "none":
            because = words.NOT_THE_AGENTS
        resting = self.seconds_of_rest(settings)
        if because is None and resting:
            because = words.not_asked_resting(resting)
        if because is not None:
            return [], [because]
        try:
            answer = await self._answer(question)
        except NotReachable as failure:
            self._failed_at = self._clock()
            return [], [words.failed(failure.message)]
        self._failed_at = None
        items = await self._items(answer.text)
        self._asked += 1
        namespace = _DEFAULT_NAMESPACE if question.has_namespaces else None
        notes = [words.answered(answer, len(items)), *([words.cut_off(MOST_BYTES)] if answer.is_cut else [])]
        # No two of lucid's rows have one key, so all beyond these would be cut off.
        most = question.limit + hits
        return context.scored(items[:most], local_now(), namespace, self._asked), notes

    async def _answer(self, question: Question) -> Answer:
        settings = question.settings
        task = asyncio.ensure_future(run(settings.binary_path, question.arguments(), settings.recall_timeout_ms))
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is not None and waiting.cancelling():
                raise
            raise SearchInterrupted from None
        finally:
            self._running.discard(task)

    async def _items(self, text: str) -> list[tuple[str, str]]:
        if len(text) <= _PARSED_AT_ONCE:
            return context.items_in(text)
        return await asyncio.to_thread(context.items_in, text)

    def _remember(self, found: Iterable[ScoredEntry]) -> None:
        self._answered = {row.entry.id: row.entry for row in found}


def _picked(rows: Iterable[ScoredEntry], question: Question) -> tuple[ScoredEntry, ...]:
    """The rows of the namespace asked for, up to the limit, with their places; lucid's are in the default one."""
    wanted = question.request.namespace
    if wanted is None:
        return context.ranked(rows)
    kept = (row for row in rows if (row.entry.namespace or _DEFAULT_NAMESPACE) == wanted)
    return context.ranked(islice(kept, max(question.request.limit, 0)))
