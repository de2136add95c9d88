"""The steps of an explanation up to the store's answer: words, vectors, fusion, filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.answer import NoVector, Record
from zeroclaw_tui.scoring.evidence import DEFAULT_NAMESPACE, FilterName, WordShare
from zeroclaw_tui.scoring.explanation import ADD_A_WORD, HIGHER_LIMIT, NO_HELP, Help, Step, stop_step
from zeroclaw_tui.scoring.keywords import LIKE_FAILS, LIKE_WORDS, like_search
from zeroclaw_tui.scoring.phrases import listed, number, only_first, ordinal, quoted, shown_name
from zeroclaw_tui.scoring.profiles import mode_in

_RE_EMBED: Help = ("re-embed it", "R")
_NO_VECTORS: dict[NoVector, tuple[str, Help]] = {
    "no query vector": ("the message has no vector", NO_HELP),
    "mode": ("search mode bm25 ignores vectors", ("another search mode", "w")),
    "no embedding": ("this memory has no vector (stored while embeddings were off)", _RE_EMBED),
    "other length": ("its vector has a different length, because another model made it", _RE_EMBED),
    "not above 0": ("its cosine is not above 0", NO_HELP),
    "out of scope": ("its vector is not compared: it is of another session or agent", NO_HELP),
}
"""By reason: what the vector stage says of it, and what helps."""


def words_step(record: Record, stops: bool) -> Step:
    """Which words of the message are in it, and what each adds to its word score."""
    found = [share for share in record.shares if share.is_found]
    missing = [share.word for share in record.shares if not share.is_found]
    numbers = {
        "matched": [{"word": each.word, "bm25": each.share, "rows": each.rows} for each in found],
        "missing": missing,
    }
    names = listed(map(shown_name, missing))
    if not record.shares:
        return Step("words", "absent", "the message has no words", numbers)
    if not found:
        return Step("words", "absent", f"contains no word of the message: {names}", numbers)
    total = sum(share.share for share in found if share.share is not None)
    matches = listed(_match(share, total, record.store_rows) for share in found)
    return Step("words", "passed", f"matches {matches}" + (f"; missing: {names}" if missing else ""), numbers)


def _match(share: WordShare, total: float, store_rows: int) -> str:
    if share.share is None:
        return quoted(share.word)
    where = f"in {share.rows:,} of {counted(store_rows)}"
    return f"{quoted(share.word)} ({where}, {number(share.share)} of {number(total)})"


def keyword_step(record: Record, stops: bool) -> Step:
    """The word score, raw and as a share of the best, and the rank among the hits."""
    place, best, share = record.keyword, record.best_raw, record.keyword_score
    if place is None:
        words, helps = _why_no_words(record)
        return Step("keyword", "absent", words, {}, *helps)
    shown = f"bm25 {number(place.score)}"
    if share is not None and best:
        shown += f" of {number(best)} = {number(share)}"
    numbers = {"bm25": place.score, "best_bm25": best, "score": share, **place.numbers}
    return Step("keyword", "passed", f"{shown} · rank {place.rank:,} of {place.hits:,}", numbers)


def _why_no_words(record: Record) -> tuple[str, Help]:
    """Why it has no hit by words, and what would give it one."""
    trial = record.trial
    if record.out_of_stages is not None:
        return f"memories of another {record.out_of_stages} are not searched", NO_HELP
    if mode_in(trial.settings, trial.profile) == "embedding":
        return "search mode embedding ignores keywords", ("another search mode", "w")
    if record.keyword_failed:
        helps = NO_HELP if trial.profile.escapes_quotes else ("another scoring version", "p")
        return "FTS5 cannot read this message, so no memory has a keyword match", helps
    although = ", although it contains some of the words" if any(share.is_found for share in record.shares) else ""
    return f"no keyword match{although}", ADD_A_WORD


def vector_step(record: Record, stops: bool) -> Step:
    """The cosine and the rank among the hits, or why there is none."""
    place, why = record.vector, record.no_vector or "no query vector"
    if place is not None:
        words = f"cosine {number(place.score)} · rank {place.rank:,} of {place.hits:,}"
        return Step("vector", "passed", words, {"cosine": place.score, **place.numbers})
    words, helps = _NO_VECTORS[why]
    if why == "no query vector" and record.store.why_no_vector:
        because, _, cure = record.store.why_no_vector.partition("; ")
        words, helps = f"{words}: {because}", (cure, "")
    return Step("vector", "absent", words, {"why": why}, *helps)


def candidates_step(record: Record, stops: bool) -> Step | None:
    """Its place among the 2 x limit that goes on from each stage."""
    both = {"keyword": record.keyword, "vector": record.vector}
    places = {stage: place for stage, place in both.items() if place is not None}
    if not places:
        if not stops:
            return None
        keyword, vector = keyword_step(record, stops), vector_step(record, stops)
        helps = (vector.helps, vector.key) if vector.key else (keyword.helps, keyword.key)
        return stop_step("candidates", f"{keyword.words}, and {vector.words}", helps)
    offered = next(iter(places.values())).offered
    ranks = {
        goes_on: " and ".join(f"{ordinal(at.rank)} by {stage}" for stage, at in places.items() if at.goes_on is goes_on)
        for goes_on in (True, False)
    }
    if stops:
        words = f"ranked {ranks[False]}, and {only_first(offered, ' of each' if len(places) > 1 else '')}"
        return stop_step("candidates", words, HIGHER_LIMIT, offered=offered)
    words = f"{ranks[True]}; the first {offered:,} of each stage are candidates"
    if ranks[False]:
        words += f"; {ranks[False]} ranks too low, so that score counts as missing"
    return Step("candidates", "passed", words, {"offered": offered})


def fusion_step(record: Record, stops: bool) -> Step | None:
    """How the score is made of its parts."""
    settings, profile = record.trial.settings, record.trial.profile
    if record.fused_score is None:
        return None
    score = number(record.fused_score)
    vector = record.vector.score if record.vector is not None and record.vector.goes_on else None
    parts = ((settings.vector_weight, vector), (settings.keyword_weight, record.keyword_score))
    if record.merged:
        terms = _weighed(parts, divides=profile.divides_by_weights_present)
        words = f"{terms} = {score} · rank {record.fused_rank or 0:,}"
    elif record.keyword is None:
        is_searched = mode_in(settings, profile) != "embedding"
        why = "no memory has a keyword match" if is_searched else "search mode embedding ignores keywords"
        words = f"{why}, so the cosine is the score: {score}"
    elif profile.normalises_keyword_only:
        raw, best = number(record.keyword.score), number(record.best_raw)
        words = f"only words are searched, so the score is bm25 divided by the best: {raw} / {best} = {score}"
    else:
        words = f"only words are searched, so bm25 is the score: {score}"
    numbers = {
        "vector": vector,
        "keyword": record.keyword_score,
        "weights": [weight for weight, _ in parts],
        "score": record.fused_score,
        "rank": record.fused_rank,
    }
    return Step("fusion", "passed", words, numbers)


def _weighed(parts: Sequence[tuple[float, float | None]], *, divides: bool) -> str:
    """The sum with the numbers put in; from 0.8.4 on divided by the weights of the parts that are there."""
    present = [(weight, part) for weight, part in parts if part is not None or not divides]
    terms = " + ".join(f"{weight:g} × {number(part)}" for weight, part in present)
    if not divides:
        return terms
    weights = " + ".join(f"{weight:g}" for weight, _ in present)
    return f"({terms}) / ({weights})" if len(present) > 1 else f"{terms} / {weights}"


def merge_step(record: Record, stops: bool) -> Step | None:
    """The limit of the fused list, which is cut before anything is filtered."""
    rank, limit = record.fused_rank, record.store_limit
    if not stops or rank is None:
        return None
    words = f"ranked {ordinal(rank)} after fusion with {number(record.fused_score)}, and {only_first(limit)}"
    return stop_step("merge", words, ("other weights, or a higher limit", "w"), rank=rank, limit=limit)


def like_step(record: Record, stops: bool) -> Step:
    """The fall-back for parts of words."""
    trial = record.trial
    rank, search = record.like_rank, like_search(trial.request.query, trial.profile)
    lead = "nothing else matches, so parts of words count:"
    if not stops:
        words = f"{lead} {ordinal(rank or 1)} of the newest that contain one, scores 1.00"
        return Step("like", "passed", words, {"rank": rank, "score": 1.0})
    assert search is not None
    if search.fails:
        return stop_step("like", LIKE_FAILS.removesuffix("."))
    if rank is None or not search.accepts(record.entry.key, record.entry.content):
        words = f"{lead} it contains none of the message's first {LIKE_WORDS} words"
        return stop_step("like", words, ADD_A_WORD, rank=rank)
    words = f"{ordinal(rank)} of the newest that contain part of the message, and {only_first(record.store_limit)}"
    return stop_step("like", words, HIGHER_LIMIT, rank=rank)


def filter_step(name: FilterName, record: Record, stops: bool) -> Step | None:
    """The filter, where it keeps the memory out."""
    return filter_stop(record, name) if stops else None


def filter_stop(record: Record, name: FilterName) -> Step:
    """The filter that keeps it out."""
    request, entry = record.trial.request, record.entry
    match name:
        case "superseded":
            if not entry.superseded_by:
                return stop_step(name, "it is marked as superseded, but nothing records by which memory")
            words = f"a newer memory replaced it: {shown_name(entry.superseded_by)}"
            return stop_step(name, words, ("look at the newer one", "x"))
        case "time":
            since = f" from {shown_name(request.since)} on" if request.since else ""
            until = f" until {shown_name(request.until)}" if request.until else ""
            words, recall_is = f"created {shown_name(entry.timestamp)}", f"recall is{since}{until}"
            helps = "recall without the time bounds"
        case "session":
            words = f"it belongs to session {shown_name(entry.session_id)}" if entry.session_id else "it has no session"
            recall_is = f"the message comes from {shown_name(request.session_id or '')}"
            helps = "recall without the session"
        case "agent":
            words = f"it belongs to agent {shown_name(entry.agent)}" if entry.agent else "it belongs to no agent"
            recall_is = f"recall is for {listed(map(shown_name, request.agents or ()))}"
            helps = "recall for its agent"
        case "namespace":
            words = f"it is in namespace {shown_name(entry.namespace or DEFAULT_NAMESPACE)}"
            recall_is, helps = f"recall is in {shown_name(request.namespace or '')}", "recall in its namespace"
    return stop_step(name, f"{words}, and {recall_is}", (helps, "F"))


def own_step(record: Record, stops: bool) -> Step:
    """The rank and score that a backend's own rule gives."""
    if stops:
        return own_stops(record)[0]
    rank, score, scale = record.rank, record.fused_score, _own_scale(record)
    rule = f"{_own_name(record)}'s own rule" if record.program is None else f"the rule of {record.program}"
    place = f"rank {rank:,} by {rule}" if rank is not None else f"found by {rule}"
    if score is None:
        scored = f"no score ({scale})" if scale else "no score"
    else:
        scored = f"{scale} = {number(score)}" if scale else f"score {number(score)}"
    words = f"{place} · {scored}"
    return Step("rank", "passed", words, {"rank": rank, "score": score, "scale": record.answer.scale})


def _own_name(record: Record) -> str:
    return shown_name(record.program or record.store.name)


def _own_scale(record: Record) -> str:
    return "" if record.answer.scale in ("", "none", "its own") else shown_name(record.answer.scale)


def own_stops(record: Record) -> list[Step]:
    """Everything that is known to leave it out of the answer of a backend's own rule, the first of it first."""
    rule, scale = _own_name(record), {"scale": record.answer.scale}
    stops = [filter_stop(record, name) for name in record.left_out_by]
    if stops:
        return [replace(stop, name="rank", words=f"{rule} leaves it out: {stop.words}") for stop in stops]
    by = f" (it scores by {_own_scale(record)})" if _own_scale(record) else ""
    wants, helps, own_rule = "", ADD_A_WORD, record.store.rule
    if record.program or record.path in ("vector", "recent") or not own_rule.finds_words:
        helps = NO_HELP
    elif own_rule.needed_text is not None:
        asked = own_rule.needed_text(record.trial.profile)
        wants, helps = f", because it must contain {asked}", (f"edit it to contain {asked}", "e")
    return [stop_step("rank", f"{rule}'s own rule does not find it{by}{wants}", helps, **scale)]


def recent_step(record: Record, stops: bool) -> Step:
    """Its place among the newest, which a blank message lists."""
    listing = "a lone *" if record.trial.request.query.strip() else "a blank message"
    if stops:
        words = f"{listing} lists the newest, and {only_first(record.store_limit)}"
        return stop_step("recent", words, HIGHER_LIMIT)
    rank = record.rank
    place = f"{ordinal(rank)} of the newest" if rank is not None else "among the newest"
    return Step("recent", "passed", f"{listing} lists the newest: {place}, without a score", {"rank": rank})


def query_step(record: Record, stops: bool) -> Step | None:
    """A blank message, for which some versions find nothing."""
    words = f"ZeroClaw {record.trial.profile.version} finds nothing for a blank message"
    return stop_step("query", words, ("another scoring version", "p")) if stops else None
