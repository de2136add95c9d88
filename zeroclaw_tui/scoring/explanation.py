"""Why a memory is, or is not, in the prompt for a message: stage by stage, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.evidence import WordShare
from zeroclaw_tui.scoring.explaining import filters, finding, passing
from zeroclaw_tui.scoring.explaining.remarks import remarks_on
from zeroclaw_tui.scoring.explaining.step import Mark, Step, StepName, Told, WholeRecall
from zeroclaw_tui.scoring.explaining.text import ordinal
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.scoring.way import StageName, Way

__all__ = ["Advice", "Explanation", "Mark", "Step", "StepName", "WholeRecall", "explained"]

_ONLY_AN_EDIT: frozenset[StageName] = frozenset({"superseded", "skip", "scanner"})
_NOTHING_HELPS = ("nothing but an edit helps", "e")
_FILTERS: tuple[StageName, ...] = ("superseded", "time", "session", "agent", "namespace")


@dataclass(frozen=True, slots=True)
class Advice:
    """What puts the memory in the prompt: the recall was decided again with it, to the end.

    `key` is that of the inspector that tries or does it; `trial` is the recall with it.
    """

    words: str
    key: str
    trial: Trial


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole way of one memory. The steps end with the first that stops it, or with its place in the prompt.

    `verdict` is one sentence: where it stands in the prompt, or what stopped it. `remarks` are sentences on what holds
    for every memory in this scoring ("a hit without a vector can reach at most 0.30").
    """

    entry: MemoryEntry
    query: str
    profile: str
    profile_source: str
    rule: str
    layer: str
    steps: tuple[Step, ...]
    verdict: str
    stopped_at: StageName | None
    place: int | None
    injected: int
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What went wrong on the way of the whole recall."""
    program: str | None = None
    """The other program whose store it is: then `is_injected` and `place` are about what that program returns."""
    advice: Advice | None = None
    """What would put it in; None where it is in, and where nothing that was tried does."""

    def advised(self, advice: Advice | None) -> Explanation:
        """The same with proven advice at the step that stops it, in place of what usually helps there."""
        last = self.steps[-1]
        if last.mark != "stopped":
            return self
        words, key = last.helps, last.key
        if advice is not None:
            words, key = f"{advice.words} puts it in the prompt", advice.key
        elif self.stopped_at not in _ONLY_AN_EDIT or key == "w":
            words, key = _NOTHING_HELPS
            if any(step.key == "R" for step in self.steps):
                words, key = "no number that was tried helps; a vector of its own may", "R"
        return replace(self, steps=(*self.steps[:-1], replace(last, helps=words, key=key)), advice=advice)

    @property
    def is_injected(self) -> bool:
        """Whether it reaches the prompt."""
        return self.stopped_at is None

    def as_json(self) -> dict[str, Any]:
        """The document the explain command prints."""
        return {
            "id": self.entry.id,
            "key": self.entry.key,
            "agent": self.entry.agent,
            "query": self.query,
            "profile": self.profile,
            "profile_source": self.profile_source,
            "layer": self.layer,
            "rule": self.rule,
            "injected": self.is_injected if self.program is None else None,
            **({} if self.program is None else {"returned": self.is_injected}),
            "place": self.place,
            "of": self.injected,
            "stopped_at": self.stopped_at,
            "verdict": self.verdict,
            "steps": [_step_as_json(step) for step in self.steps],
            "advice": None if self.advice is None else self.advice.words,
            "remarks": list(self.remarks),
            "notes": list(self.notes),
        }


def explained(
    way: Way,
    trial: Trial,
    shares: Sequence[WordShare],
    profile_source: str,
    notes: Sequence[str] = (),
    recall: WholeRecall | None = None,
) -> Explanation:
    """The way of a memory in sentences. `shares` are the query's words in it, `recall` what is known of the rest."""
    told = Told(way, trial, shares, replace(recall or WholeRecall(), notes=tuple(notes)))
    steps = tuple(_steps(told))
    return Explanation(
        entry=way.entry,
        query=trial.request.query,
        profile=trial.profile.version,
        profile_source=profile_source,
        rule=trial.request.rule,
        layer=trial.request.layer,
        steps=steps,
        verdict=_verdict(told, steps[-1]),
        stopped_at=way.stopped_at,
        place=way.place if told.recall.program is None else way.rank if way.stopped_at is None else None,
        injected=way.injected if told.recall.program is None else len(told.recall.results),
        program=told.recall.program,
        remarks=remarks_on(told),
        notes=tuple(notes),
    )


def _verdict(told: Told, last: Step) -> str:
    way, program = told.way, told.recall.program
    if program is not None:
        place = f"{ordinal(way.rank or 0)} of {len(told.recall.results)}"
        words = last.words.removeprefix(f"{program} leaves it out: ")
        return (
            f"{program} returns it, {place}." if way.stopped_at is None else f"{program} does not return it: {words}."
        )
    if way.stopped_at is None:
        of = f"entry {way.place} of {way.injected}" if way.injected > 1 else "the only memory"
        return f"It is in the prompt, as {of}."
    if way.stopped_at == "threshold":
        score, _, threshold = last.words.partition(" < ")
        what = f"its score has faded to {score} with age," if passing.has_faded(told) else f"its score of {score} is"
        return f"It is not in the prompt: {what} under the threshold of {threshold}."
    return f"It is not in the prompt: {last.words}."


def _steps(told: Told) -> Iterator[Step]:
    """Every stage it meets, in order, up to the one that stops it."""
    stopped_at = told.way.stopped_at
    met = list(_all_steps(told))
    if stopped_at is not None and all(stage != stopped_at for stage, _ in met):
        met = [(None, finding.words_step(told)), (stopped_at, None)]
    for stage, step in met:
        if stage is not None and stage == stopped_at:
            yield _stop(told, stage)
            return
        if step is not None:
            yield step


def _all_steps(told: Told) -> Iterator[tuple[StageName | None, Step | None]]:
    """Stages with the step of one who passes them; without a name where none can stop there."""
    if not told.is_staged:
        yield None, finding.words_step(told)
        if told.recall.program is not None:
            yield "rank", finding.own_step(told)
            return
        yield from _filters(told)
        yield "rank", finding.own_step(told)
    elif told.way.path == "recent":
        yield "query", None
        yield from _filters(told)
        yield "recent", filters.recent_step(told)
    else:
        yield from _staged(told)
    yield from _to_the_prompt(told)


def _staged(told: Told) -> Iterator[tuple[StageName | None, Step | None]]:
    for step in finding.each_found(told):
        yield None, step
    if told.way.path == "like":
        # Whatever the stages found was dropped; only the fall-back's own rows go on.
        yield from _filters(told)
        yield "candidates", None
        yield "merge", None
        yield "like", finding.like_step(told)
        return
    if told.way.out_of_stages is not None:
        yield told.way.out_of_stages, None
    yield "candidates", finding.candidates_step(told)
    yield "merge", finding.fusion_step(told)
    yield from _filters(told)
    yield "like", None


def _filters(told: Told) -> Iterator[tuple[StageName | None, Step | None]]:
    for stage in _FILTERS:
        yield stage, filters.filter_step(told, stage)


def _to_the_prompt(told: Told) -> Iterator[tuple[StageName | None, Step | None]]:
    yield "scanner", passing.scanner_step(told)
    yield "limit", passing.limit_step(told)
    if told.trial.reranks:
        yield "skip", passing.skip_step(told)
        yield "rerank", passing.rerank_step(told)
        yield "threshold", passing.threshold_step(told)
        yield "cap", passing.cap_step(told)
        yield None, passing.prompt_step(told)
        return
    yield None, passing.decay_step(told)
    yield "threshold", passing.threshold_step(told)
    if told.way.stopped_at != "cap":
        yield "skip", passing.skip_step(told)
    yield "cap", passing.cap_step(told)
    yield None, passing.prompt_step(told)


def _stop(told: Told, stage: StageName) -> Step:
    stops = {
        "query": filters.query_stop,
        "candidates": finding.candidates_stop,
        "merge": finding.merge_stop,
        "like": finding.like_stop,
        "recent": filters.recent_stop,
        "rank": filters.own_stop,
        "limit": passing.limit_stop,
        "scanner": passing.scanner_stop,
        "rerank": passing.rerank_stop,
        "threshold": passing.threshold_stop,
        "skip": passing.skip_stop,
        "cap": passing.cap_stop,
    }
    return stops[stage](told) if stage in stops else filters.filter_stop(told, stage)


def _step_as_json(step: Step) -> dict[str, Any]:
    helps = {"helps": step.helps} if step.helps else {}
    return {"stage": step.name, "mark": step.mark, "words": step.words, **step.numbers, **helps}
