"""Why a memory is, or is not, in the prompt for a message: stage by stage, in words and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from zeroclaw_tui.scoring import prompt_steps, store_steps
from zeroclaw_tui.scoring.answer import Record
from zeroclaw_tui.scoring.evidence import FILTERS
from zeroclaw_tui.scoring.explanation import Explanation, Step, StepName
from zeroclaw_tui.scoring.injection import skip_rules
from zeroclaw_tui.scoring.phrases import ordinal
from zeroclaw_tui.scoring.profiles import mode_in
from zeroclaw_tui.scoring.what_if import keyword_meaning, mixed_meanings


def explained(record: Record, profile_source: str, notes: tuple[str, ...]) -> Explanation:
    """The way of a memory in sentences."""
    steps = tuple(_steps(record))
    later_stops, remarks = tuple(_later_stops(record)), tuple(_on_scores(record))
    return Explanation(record, profile_source, steps, _verdict(record, steps[-1]), later_stops, remarks, notes)


def _verdict(record: Record, last: Step) -> str:
    program = record.program
    is_stopped = record.stopped_at is not None
    if program is not None:
        if is_stopped:
            return f"{program} does not return it: {last.words.removeprefix(f'{program} leaves it out: ')}."
        return f"{program} returns it, {ordinal(record.rank or 0)} of {len(record.answer.results)}."
    if not is_stopped:
        of = f"entry {record.place} of {record.injected}" if record.injected > 1 else "the only memory"
        return f"It is in the prompt, as {of}."
    if record.stopped_at == "threshold":
        score, threshold = prompt_steps.below_threshold(record)
        what = f"its score has faded to {score} with age," if record.has_faded else f"its score of {score} is"
        return f"It is not in the prompt: {what} below the threshold of {threshold}."
    return f"It is not in the prompt: {last.words}."


def _steps(record: Record) -> Iterator[Step]:
    """Every stage it meets, in order, up to the one that stops it."""
    stopped_at = record.stopped_at
    for name in _stages(record):
        step = _STAGES[name](record, name == stopped_at)
        if step is not None:
            yield step
        if name == stopped_at:
            return


def _stages(record: Record) -> tuple[StepName, ...]:
    """The stages that this recall has."""
    if record.program is not None:
        return ("words", "rank")
    to_prompt: tuple[StepName, ...] = ("scanner", "limit", "decay", "threshold", "skip", "cap", "prompt")
    if record.trial.reranks:
        to_prompt = ("scanner", "limit", "skip", "rerank", "threshold", "cap", "prompt")
    if record.is_own_rule:
        return ("words", *FILTERS, "rank", *to_prompt)
    if record.path == "recent":
        return ("query", *FILTERS, "recent", *to_prompt)
    if record.path == "like":
        # Whatever the stages found was dropped; only the fall-back's own rows go on.
        return ("words", "keyword", "vector", *FILTERS, "like", *to_prompt)
    is_out = record.out_of_stages is not None and record.out_of_stages == record.stopped_at
    out: tuple[StepName, ...] = (record.out_of_stages,) if is_out and record.out_of_stages else ()
    return ("words", "keyword", "vector", *out, "candidates", "fusion", "merge", *FILTERS, *to_prompt)


_STAGES: dict[StepName, Callable[[Record, bool], Step | None]] = {
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


def _later_stops(record: Record) -> Iterator[Step]:
    """Everything else that would stop it, as far as that is known without the stage that stops it."""
    stopped_at, candidate, score = record.stopped_at, record.candidate, record.compared_score
    if stopped_at is None:
        return
    if stopped_at == "rank":
        yield from store_steps.own_stops(record)[1:]
    elif not record.is_own_rule:
        yield from (store_steps.filter_stop(record, name) for name in record.left_out_by if name != stopped_at)
    if candidate is None or record.program is not None:
        return
    if candidate.withheld is not None and stopped_at != "scanner":
        yield from filter(None, [prompt_steps.scanner_step(record, stops=True)])
    if score is not None and score < record.trial.settings.threshold and stopped_at != "threshold":
        yield prompt_steps.threshold_step(record, stops=True)
    for stop in skip_rules(candidate.entry, record.trial):
        if stopped_at != "skip" or stop != candidate.stop:
            yield prompt_steps.skip_stop(record, stop)


def _on_scores(record: Record) -> Iterator[str]:
    """What a hit like this one can reach in this scoring."""
    profile, settings = record.trial.profile, record.trial.settings
    if record.is_own_rule:
        if record.store.rule.threshold_meaning is not None:
            yield record.store.rule.threshold_meaning(profile, settings.threshold)
    elif record.path == "keyword":
        yield keyword_meaning(profile, settings.threshold)
    elif record.merged and mode_in(settings, profile) == "hybrid":
        sentences = mixed_meanings(profile, settings)
        is_by_words = record.vector is None and record.keyword_score is not None
        if is_by_words or sentences["keyword"] == sentences["vector"]:
            yield sentences["keyword"]
        elif record.keyword is None and record.vector is not None and record.vector.goes_on:
            yield sentences["vector"]
