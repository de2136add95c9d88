"""Why a memory is, or is not, in the prompt for a message: stage by stage, in words and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from zeroclaw_tui.scoring import prompt_steps, store_steps
from zeroclaw_tui.scoring.evidence import FILTERS
from zeroclaw_tui.scoring.explanation import Explanation, Facts, Step, StepName
from zeroclaw_tui.scoring.injection import skip_rules
from zeroclaw_tui.scoring.phrases import ordinal
from zeroclaw_tui.scoring.placement import StageName
from zeroclaw_tui.scoring.profiles import mode_in
from zeroclaw_tui.scoring.what_if import keyword_meaning, mixed_meanings, threshold_meaning


def explained(facts: Facts, profile_source: str) -> Explanation:
    """The way of a memory in sentences."""
    placement, results = facts.placement, facts.result.results
    steps, stopped_at = tuple(_steps(facts)), placement.stopped_at
    place, of = placement.place, placement.injected
    if facts.program is not None:
        place, of = placement.rank if stopped_at is None else None, len(results)
    return Explanation(
        entry=placement.entry,
        trial=facts.trial,
        profile_source=profile_source,
        steps=steps,
        verdict=_verdict(facts, steps[-1]),
        stopped_at=stopped_at,
        place=place,
        injected=of,
        later_stops=() if stopped_at is None else tuple(_later_stops(facts, stopped_at)),
        remarks=tuple(_on_scores(facts)),
        notes=facts.result.notes,
        program=facts.program,
    )


def _verdict(facts: Facts, last: Step) -> str:
    placement, program = facts.placement, facts.program
    is_stopped = placement.stopped_at is not None
    if program is not None:
        if is_stopped:
            return f"{program} does not return it: {last.words.removeprefix(f'{program} leaves it out: ')}."
        return f"{program} returns it, {ordinal(placement.rank or 0)} of {len(facts.result.results)}."
    if not is_stopped:
        of = f"entry {placement.place} of {placement.injected}" if placement.injected > 1 else "the only memory"
        return f"It is in the prompt, as {of}."
    if placement.stopped_at == "threshold":
        score, threshold = prompt_steps.below_threshold(facts)
        what = f"its score has faded to {score} with age," if facts.has_faded else f"its score of {score} is"
        return f"It is not in the prompt: {what} below the threshold of {threshold}."
    return f"It is not in the prompt: {last.words}."


def _steps(facts: Facts) -> Iterator[Step]:
    """Every stage it meets, in order, up to the one that stops it."""
    stopped_at = facts.placement.stopped_at
    for name in _stages(facts):
        step = _STAGES[name](facts, name == stopped_at)
        if step is not None:
            yield step
        if name == stopped_at:
            return


def _stages(facts: Facts) -> tuple[StepName, ...]:
    """The stages that this recall has."""
    placement = facts.placement
    if facts.program is not None:
        return ("words", "rank")
    to_prompt: tuple[StepName, ...] = ("scanner", "limit", "decay", "threshold", "skip", "cap", "prompt")
    if facts.trial.reranks:
        to_prompt = ("scanner", "limit", "skip", "rerank", "threshold", "cap", "prompt")
    if facts.own_rule is not None:
        return ("words", *FILTERS, "rank", *to_prompt)
    if placement.path == "recent":
        return ("query", *FILTERS, "recent", *to_prompt)
    if placement.path == "like":
        # Whatever the stages found was dropped; only the fall-back's own rows go on.
        return ("words", "keyword", "vector", *FILTERS, "like", *to_prompt)
    is_out = placement.out_of_stages is not None and placement.out_of_stages == placement.stopped_at
    out: tuple[StepName, ...] = (placement.out_of_stages,) if is_out and placement.out_of_stages else ()
    return ("words", "keyword", "vector", *out, "candidates", "fusion", "merge", *FILTERS, *to_prompt)


_STAGES: dict[StepName, Callable[[Facts, bool], Step | None]] = {
    "words": store_steps.words_step,
    "keyword": store_steps.keyword_step,
    "vector": store_steps.vector_step,
    "query": store_steps.query_step,
    "candidates": store_steps.candidates_step,
    "fusion": store_steps.fusion_step,
    "merge": store_steps.merge_step,
    **{name: partial(store_steps.filter_step, name) for name in FILTERS},
    "like": store_steps.like_step,
    "recent": store_steps.recent_step,
    "rank": store_steps.own_step,
    "limit": prompt_steps.limit_step,
    "scanner": prompt_steps.scanner_step,
    "rerank": prompt_steps.rerank_step,
    "decay": prompt_steps.decay_step,
    "threshold": prompt_steps.threshold_step,
    "skip": prompt_steps.skip_step,
    "cap": prompt_steps.cap_step,
    "prompt": prompt_steps.prompt_step,
}
"""What makes the step of a stage: of one that the memory passes, or of the one that stops it. None is no step."""


def _later_stops(facts: Facts, stopped_at: StageName) -> Iterator[Step]:
    """Everything else that would stop it, as far as that is known without the stage that stops it."""
    if stopped_at == "rank":
        yield from store_steps.own_stops(facts)[1:]
    elif facts.own_rule is None:
        yield from (store_steps.filter_stop(facts, name) for name in facts.left_out_by if name != stopped_at)
    candidate, score = facts.placement.candidate, facts.compared_score
    if candidate is None or facts.program is not None:
        return
    if candidate.withheld is not None and stopped_at != "scanner":
        yield from filter(None, [prompt_steps.scanner_step(facts, stops=True)])
    if score is not None and score < facts.trial.settings.threshold and stopped_at != "threshold":
        yield prompt_steps.threshold_step(facts, stops=True)
    for stop in skip_rules(candidate.entry, facts.trial):
        if stopped_at != "skip" or stop != candidate.stop:
            yield prompt_steps.skip_stop(facts, stop)


def _on_scores(facts: Facts) -> Iterator[str]:
    """What a hit like this one can reach in this scoring."""
    placement, profile, settings = facts.placement, facts.trial.profile, facts.trial.settings
    if facts.own_rule is not None:
        if facts.own_rule in ("markdown", "postgres", "qdrant"):
            yield threshold_meaning(facts.own_rule, profile, settings.threshold)
    elif placement.path == "keyword":
        yield keyword_meaning(profile, settings.threshold)
    elif placement.merged and mode_in(settings, profile) == "hybrid":
        sentences = mixed_meanings(profile, settings)
        is_by_words = placement.vector is None and placement.keyword_score is not None
        if is_by_words or sentences["keyword"] == sentences["vector"]:
            yield sentences["keyword"]
        elif placement.keyword is None and placement.vector is not None and placement.vector.goes_on:
            yield sentences["vector"]
