"""Why a memory is, or is not, in the prompt for a message: stage by stage, in words and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import counted, distinct_numbers
from zeroclaw_tui.scoring import steps
from zeroclaw_tui.scoring.evidence import WordShare
from zeroclaw_tui.scoring.placement import Placement, StageName
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.steps import Facts, Step, WholeRecall, ordinal
from zeroclaw_tui.scoring.weights import (
    best_scores,
    nothing_passes,
    threshold_meaning,
    weights_meaning,
)

_WITH_OWN_MEANING = ("markdown", "postgres", "qdrant")
_LOST_PLACES: frozenset[StageName] = frozenset({"candidates", "merge", "rank", "recent", "limit"})
_KINDS = {"assistant reply": "assistant reply", "user message": "saved user message"}


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
    later_stops: tuple[Step, ...] = ()
    """Everything else that would stop it as well."""

    def with_advice(self, advice: Advice) -> Explanation:
        """The same with proven advice at the step that stops it, in place of what usually helps there."""
        return replace(self._with_help(f"{advice.words} puts it in the prompt", advice.key), advice=advice)

    def with_tried(self, tried: Sequence[str]) -> Explanation:
        """The same with the settings that were tried and do not help, where no edit of the memory is offered."""
        last = self.steps[-1]
        if not tried or (last.key in ("e", "R", "x") and last.name != "threshold"):
            return self
        return self._with_help(f"none of the settings tried ({', '.join(tried)}) brings it in", "e")

    def _with_help(self, helps: str, key: str) -> Explanation:
        return replace(self, steps=(*self.steps[:-1], replace(self.steps[-1], helps=helps, key=key)))

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
            "later_stops": [_step_as_json(step) for step in self.later_stops],
            "advice": None if self.advice is None else self.advice.words,
            "remarks": list(self.remarks),
            "notes": list(self.notes),
        }


def explained(
    placement: Placement,
    trial: Trial,
    shares: Sequence[WordShare],
    profile_source: str,
    notes: Sequence[str] = (),
    recall: WholeRecall | None = None,
) -> Explanation:
    """The way of a memory in sentences. `shares` are the query's words in it, `recall` what is known of the rest."""
    facts = Facts(placement, trial, shares, replace(recall or WholeRecall(), notes=tuple(notes)))
    way, stopped_at = tuple(_steps(facts)), placement.stopped_at
    return Explanation(
        entry=placement.entry,
        query=trial.request.query,
        profile=trial.profile.version,
        profile_source=profile_source,
        rule=trial.request.rule,
        layer=trial.request.layer,
        steps=way,
        verdict=_verdict(facts, way[-1]),
        stopped_at=stopped_at,
        place=_place(facts),
        injected=placement.injected if facts.recall.program is None else len(facts.recall.results),
        program=facts.recall.program,
        remarks=remarks_on(facts),
        notes=tuple(notes),
        later_stops=() if stopped_at is None else tuple(steps.later_stops(facts, stopped_at)),
    )


def _place(facts: Facts) -> int | None:
    """Its place in the prompt, or in what the other program returns."""
    if facts.recall.program is None:
        return facts.placement.place
    return facts.placement.rank if facts.placement.stopped_at is None else None


def _verdict(facts: Facts, last: Step) -> str:
    placement, program = facts.placement, facts.recall.program
    if program is not None:
        place = f"{ordinal(placement.rank or 0)} of {len(facts.recall.results)}"
        words = last.words.removeprefix(f"{program} leaves it out: ")
        is_returned = placement.stopped_at is None
        return f"{program} returns it, {place}." if is_returned else f"{program} does not return it: {words}."
    if placement.stopped_at is None:
        of = f"entry {placement.place} of {placement.injected}" if placement.injected > 1 else "the only memory"
        return f"It is in the prompt, as {of}."
    if placement.stopped_at == "threshold":
        score, threshold = steps.shown_below_threshold(facts)
        what = f"its score has faded to {score} with age," if steps.has_faded(facts) else f"its score of {score} is"
        return f"It is not in the prompt: {what} below the threshold of {threshold}."
    return f"It is not in the prompt: {last.words}."


def _steps(facts: Facts) -> Iterator[Step]:
    """Every stage it meets, in order, up to the one that stops it."""
    stopped_at = facts.placement.stopped_at
    met = list(_all_steps(facts))
    if stopped_at is not None and all(stage != stopped_at for stage, _ in met):
        met = [(None, steps.words_step(facts)), (stopped_at, None)]
    for stage, step in met:
        if stage is not None and stage == stopped_at:
            yield _stop(facts, stage)
            return
        if step is not None:
            yield step


def _all_steps(facts: Facts) -> Iterator[tuple[StageName | None, Step | None]]:
    """Stages with the step of one who passes them; without a name where none can stop there."""
    if not facts.is_staged:
        yield None, steps.words_step(facts)
        if facts.recall.program is not None:
            yield "rank", steps.own_step(facts)
            return
        yield from _filters(facts)
        yield "rank", steps.own_step(facts)
    elif facts.placement.path == "recent":
        yield "query", None
        yield from _filters(facts)
        yield "recent", steps.recent_step(facts)
    else:
        yield from _staged(facts)
    yield from _to_the_prompt(facts)


def _staged(facts: Facts) -> Iterator[tuple[StageName | None, Step | None]]:
    for step in steps.each_found(facts):
        yield None, step
    if facts.placement.path == "like":
        # Whatever the stages found was dropped; only the fall-back's own rows go on.
        yield from _filters(facts)
        yield "candidates", None
        yield "merge", None
        yield "like", steps.like_step(facts)
        return
    if facts.placement.out_of_stages is not None:
        yield facts.placement.out_of_stages, None
    yield "candidates", steps.candidates_step(facts)
    yield "merge", steps.fusion_step(facts)
    yield from _filters(facts)
    yield "like", None


def _filters(facts: Facts) -> Iterator[tuple[StageName | None, Step | None]]:
    for stage in steps.FILTERS:
        yield stage, steps.filter_step(facts, stage)


def _to_the_prompt(facts: Facts) -> Iterator[tuple[StageName | None, Step | None]]:
    yield "scanner", steps.scanner_step(facts)
    yield "limit", steps.limit_step(facts)
    if facts.trial.reranks:
        yield "skip", steps.skip_step(facts)
        yield "rerank", steps.rerank_step(facts)
        yield "threshold", steps.threshold_step(facts)
        yield "cap", steps.cap_step(facts)
        yield None, steps.prompt_step(facts)
        return
    yield None, steps.decay_step(facts)
    yield "threshold", steps.threshold_step(facts)
    if facts.placement.stopped_at != "cap":
        yield "skip", steps.skip_step(facts)
    yield "cap", steps.cap_step(facts)
    yield None, steps.prompt_step(facts)


def _stop(facts: Facts, stage: StageName) -> Step:
    stops = {
        "query": steps.query_stop,
        "candidates": steps.candidates_stop,
        "merge": steps.merge_stop,
        "like": steps.like_stop,
        "recent": steps.recent_stop,
        "rank": lambda facts: steps.own_stops(facts)[0],
        "limit": steps.limit_stop,
        "scanner": steps.scanner_stop,
        "rerank": steps.rerank_stop,
        "threshold": steps.threshold_stop,
        "skip": steps.skip_stop,
        "cap": steps.cap_stop,
    }
    return stops[stage](facts) if stage in stops else steps.filter_stop(facts, stage)


def _step_as_json(step: Step) -> dict[str, Any]:
    helps = {"helps": step.helps} if step.helps else {}
    return {"stage": step.name, "mark": step.mark, "words": step.words, **step.numbers, **helps}


def remarks_on(facts: Facts) -> tuple[str, ...]:
    """Sentences, the one that matters most first."""
    return (*_on_scores(facts), *_on_quotes(facts), *_on_skipped_places(facts), *_on_session(facts))


def _on_scores(facts: Facts) -> Iterator[str]:
    trial, placement = facts.trial, facts.placement
    settings = trial.settings
    rule = facts.recall.own_rule
    if rule is not None:
        if rule in _WITH_OWN_MEANING:
            yield threshold_meaning(rule, trial.profile, settings.threshold)
        return
    if placement.path == "keyword":
        yield weights_meaning(
            trial.profile, settings.vector_weight, settings.keyword_weight, settings.threshold, has_vectors=False
        )[0]
    elif placement.merged:
        yield from _on_one_sided(facts)


def _on_one_sided(facts: Facts) -> Iterator[str]:
    """What a hit of one stage alone can reach in a merge."""
    trial, settings = facts.trial, facts.trial.settings
    best = best_scores(
        trial.profile,
        settings.vector_weight,
        settings.keyword_weight,
        has_vectors=True,
        search_mode=settings.search_mode,
    )
    nothing = nothing_passes(best, settings.threshold) if facts.mode == "hybrid" else None
    if nothing is not None:
        yield nothing
        return
    scoring = f"With these weights (scoring {trial.profile.label})"
    if facts.placement.vector is None and facts.keyword_score is not None and best.keyword_only is not None:
        yield _reach(f"{scoring} a hit without a vector", best.keyword_only, settings.threshold)
    elif facts.placement.keyword is None and facts.vector_score is not None and best.vector_only is not None:
        sentence = _reach(f"{scoring} a hit without a word of the message", best.vector_only, settings.threshold)
        needed = settings.threshold / best.vector_only if best.vector_only > 0 else 0.0
        is_weighed = best.vector_only >= settings.threshold and 0 < needed < 1 and best.vector_only != 1.0
        yield f"{sentence[:-1]}, and needs a cosine of about {needed:.2f} for it." if is_weighed else sentence


def _reach(what: str, best: float, threshold: float) -> str:
    top, limit = distinct_numbers(best, threshold)
    if best < threshold:
        return f"{what} can reach at most {top}, so it is never injected."
    return f"{what} can reach {top}, and the threshold is {limit}."


def _on_quotes(facts: Facts) -> Iterator[str]:
    if facts.is_refused:
        quotes = 'Up to 0.7.4 FTS5 cannot read the " in this message'
        cause = quotes if facts.is_refused_for_quotes else "FTS5 cannot read a message with a NUL in it"
        yield f"{cause}, and ZeroClaw ignores the error. No memory has a keyword match."


def _on_skipped_places(facts: Facts) -> Iterator[str]:
    """Rows among the first that the injection rule leaves out anyway, where a memory lost its place to them."""
    if facts.placement.stopped_at not in _LOST_PLACES:
        return
    # Before the rerank stage such rows go first, and cost nobody a place.
    among = () if facts.trial.reranks else facts.recall.results
    reasons = Counter(scored.stop.rule for scored in among if scored.stop is not None)
    taken = {reason: reasons[reason] for reason in _KINDS if reasons[reason]}
    if taken:
        what = " and ".join(counted(count, _KINDS[reason]) for reason, count in taken.items())
        verb = "takes" if sum(taken.values()) == 1 else "take"
        places = counted(sum(taken.values()), "place")
        yield f"{what} {verb} {places} of the {len(among)} recalled, and ZeroClaw drops them only afterwards."


def _on_session(facts: Facts) -> Iterator[str]:
    lost = facts.recall.lost_of_session
    if lost:
        memories = counted(lost)
        yield (
            f"In this scoring ({facts.trial.profile.label}) the limit applies before the session filter: {memories} of "
            f"this session {'was' if lost == 1 else 'were'} found, but lost to better hits of other sessions."
        )
