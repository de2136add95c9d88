"""What an explanation remarks on the recall as a whole: what holds for every memory in this scoring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from zeroclaw_tui.scoring.explaining.finding import mode_of
from zeroclaw_tui.scoring.explaining.step import Told
from zeroclaw_tui.scoring.explaining.text import counted
from zeroclaw_tui.scoring.meaning import best_scores, nothing_passes, threshold_meaning, told_apart, weights_meaning
from zeroclaw_tui.scoring.way import StageName

_WITH_OWN_MEANING = ("markdown", "postgres", "qdrant")
_LOST_PLACES: frozenset[StageName] = frozenset({"candidates", "merge", "rank", "recent", "limit"})
_KINDS = {
    "assistant reply": ("assistant reply", "assistant replies"),
    "user message": ("saved user message", "saved user messages"),
}


def remarks_on(told: Told) -> tuple[str, ...]:
    """Sentences, the one that matters most first."""
    return (*_on_scores(told), *_on_quotes(told), *_on_skipped_places(told), *_on_session(told))


def _on_scores(told: Told) -> Iterator[str]:
    trial, way = told.trial, told.way
    settings = trial.settings
    rule = told.recall.own_rule
    if rule is not None:
        if rule in _WITH_OWN_MEANING:
            yield threshold_meaning(rule, trial.profile, settings.threshold)
        return
    if way.path == "keyword":
        yield weights_meaning(
            trial.profile, settings.vector_weight, settings.keyword_weight, settings.threshold, has_vectors=False
        )[0]
    elif way.merged:
        yield from _on_one_sided(told)


def _on_one_sided(told: Told) -> Iterator[str]:
    """What a hit of one stage alone can reach in a merge."""
    trial, settings = told.trial, told.trial.settings
    best = best_scores(
        trial.profile,
        settings.vector_weight,
        settings.keyword_weight,
        has_vectors=True,
        search_mode=settings.search_mode,
    )
    nothing = nothing_passes(best, settings.threshold) if mode_of(told) == "hybrid" else None
    if nothing is not None:
        yield nothing
        return
    scoring = f"With these weights (scoring {trial.profile.label})"
    if told.way.vector is None and told.keyword_score is not None and best.keyword_only is not None:
        yield _reach(f"{scoring} a hit without a vector", best.keyword_only, settings.threshold)
    elif told.way.keyword is None and told.vector_score is not None and best.vector_only is not None:
        sentence = _reach(f"{scoring} a hit without a word of the message", best.vector_only, settings.threshold)
        needed = settings.threshold / best.vector_only if best.vector_only > 0 else 0.0
        is_weighed = best.vector_only >= settings.threshold and 0 < needed < 1 and best.vector_only != 1.0
        yield f"{sentence[:-1]}, and needs a cosine of about {needed:.2f} for it." if is_weighed else sentence


def _reach(what: str, best: float, threshold: float) -> str:
    top, limit = told_apart(best, threshold)
    if best < threshold:
        return f"{what} can reach at most {top}, so it is never injected."
    return f"{what} can reach {top}, and the threshold is {limit}."


def _on_quotes(told: Told) -> Iterator[str]:
    if told.is_refused:
        quotes = 'Up to 0.7.4 FTS5 cannot read the " in this message'
        cause = quotes if told.is_refused_for_quotes else "FTS5 cannot read a message with a NUL in it"
        yield f"{cause}, and ZeroClaw swallows the error: no memory is found by words, as if none had any."


def _on_skipped_places(told: Told) -> Iterator[str]:
    """Rows among the first that the injection rule leaves out anyway, where a memory lost its place to them."""
    if told.way.stopped_at not in _LOST_PLACES:
        return
    # Before the rerank stage such rows go first, and cost nobody a place.
    among = () if told.trial.reranks else told.recall.results
    reasons = Counter((scored.not_injected_because or "").removeprefix("skipped: ") for scored in among)
    taken = {reason: reasons[reason] for reason in _KINDS if reasons[reason]}
    if taken:
        what = " and ".join(counted(count, *_KINDS[reason]) for reason, count in taken.items())
        verb = "takes" if sum(taken.values()) == 1 else "take"
        places = counted(sum(taken.values()), "place", "places")
        yield f"{what} {verb} {places} of the {len(among)} recalled, and ZeroClaw drops them only afterwards."


def _on_session(told: Told) -> Iterator[str]:
    lost = told.recall.lost_of_session
    if lost:
        memories = counted(lost, "memory", "memories")
        yield (
            f"In this scoring ({told.trial.profile.label}) the cut comes before the session filter: {memories} of this "
            f"session {'was' if lost == 1 else 'were'} found, and lost to better hits of other sessions."
        )
