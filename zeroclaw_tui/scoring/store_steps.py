"""The steps of an explanation up to the store's answer: words, vectors, fusion, filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroclaw_tui.scoring.evidence import DEFAULT_NAMESPACE, FilterName, WordShare
from zeroclaw_tui.scoring.explanation import ADD_A_WORD, HIGHER_LIMIT, NO_HELP, Facts, Help, Step, stop_step
from zeroclaw_tui.scoring.keywords import LIKE_FAILS, LIKE_WORDS, like_search
from zeroclaw_tui.scoring.phrases import listed, number, only_first, ordinal, quoted, shown_name
from zeroclaw_tui.scoring.placement import NoVector, StagePlace
from zeroclaw_tui.scoring.profiles import mode_in, parse_version
from zeroclaw_tui.scoring.what_if import POSTGRES_RANKS_SINCE

_MOST_MATCHES = 4
_ROUNDING = 1e-9
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


def words_step(facts: Facts, stops: bool) -> Step:
    """Which words of the message are in it, and what each adds to its word score."""
    found = [share for share in facts.shares if share.is_found]
    missing = [share.word for share in facts.shares if not share.is_found]
    numbers = {
        "matched": [{"word": each.word, "bm25": each.share, "rows": each.rows} for each in found],
        "missing": missing,
    }
    if not facts.shares:
        return Step("words", "absent", "the message has no words", numbers)
    if not found:
        return Step("words", "absent", f"contains no word of the message: {listed(map(shown_name, missing))}", numbers)
    total = sum(share.share for share in found if share.share is not None)
    shown = [_match(share, total, facts.store_rows, is_first=at == 0) for at, share in enumerate(found[:_MOST_MATCHES])]
    others = listed(quoted(share.word) for share in found[_MOST_MATCHES:])
    rest = f" and {others}" if others else ""
    lacks = f"; missing: {listed(map(shown_name, missing))}" if missing else ""
    return Step("words", "passed", f"matches {', '.join(shown)}{rest}{lacks}", numbers)


def _match(share: WordShare, total: float, store_rows: int | None, *, is_first: bool) -> str:
    facts = []
    if share.rows is not None:
        of = f" of {store_rows:,}" if store_rows is not None else ""
        what = f" {'memory' if (store_rows or share.rows) == 1 else 'memories'}" if is_first else ""
        facts.append(f"in {share.rows:,}{of}{what}")
    if share.share is not None:
        facts.append(f"{number(share.share)} of {number(total)}")
    return quoted(share.word) + (f" ({', '.join(facts)})" if facts else "")


def keyword_step(facts: Facts, stops: bool) -> Step:
    """The word score, raw and as a share of the best, and the rank among the hits."""
    place, best, share = facts.placement.keyword, facts.placement.best_raw, facts.placement.keyword_score
    if place is None:
        words = "no keyword match"
        if facts.placement.out_of_stages is not None:
            words = f"memories of another {facts.placement.out_of_stages} are not searched"
        elif mode_in(facts.trial.settings, facts.trial.profile) == "embedding":
            words = "search mode embedding ignores keywords"
        elif facts.placement.keyword_failed:
            words = "FTS5 cannot read this message, so no memory has a keyword match"
        elif any(share.is_found for share in facts.shares):
            words = "no keyword match, although it contains some of the words"
        return Step("keyword", "absent", words, {}, *_help_without_words(facts))
    shown = f"bm25 {number(place.score)}"
    if share is not None and best:
        shown += f" of {number(best)} = {number(share)}"
    numbers = {"bm25": place.score, "best_bm25": best, "score": share, **_place_numbers(place)}
    return Step("keyword", "passed", f"{shown} · {_rank(place)}", numbers)


def _help_without_words(facts: Facts) -> Help:
    """What would give it a hit by words."""
    if facts.placement.out_of_stages is not None:
        return NO_HELP
    if mode_in(facts.trial.settings, facts.trial.profile) == "embedding":
        return "another search mode", "w"
    if facts.placement.keyword_failed:
        return NO_HELP if facts.trial.profile.escapes_quotes else ("another scoring version", "p")
    return ADD_A_WORD


def vector_step(facts: Facts, stops: bool) -> Step:
    """The cosine and the rank among the hits, or why there is none."""
    place, why = facts.placement.vector, facts.placement.no_vector or "no query vector"
    if place is not None:
        numbers = {"cosine": place.score, **_place_numbers(place)}
        return Step("vector", "passed", f"cosine {number(place.score)} · {_rank(place)}", numbers)
    words, helps = _NO_VECTORS[why]
    if why == "no query vector" and facts.why_no_vector:
        because, _, cure = facts.why_no_vector.partition("; ")
        words, helps = f"{words}: {because}", (cure, "")
    return Step("vector", "absent", words, {"why": why}, *helps)


def _rank(place: StagePlace) -> str:
    return f"rank {place.rank:,} of {place.hits:,}"


def _place_numbers(place: StagePlace) -> dict[str, int | bool]:
    return {"rank": place.rank, "hits": place.hits, "offered": place.offered, "goes_on": place.goes_on}


def candidates_step(facts: Facts, stops: bool) -> Step | None:
    """Its place among the 2 x limit that goes on from each stage."""
    placement = facts.placement
    both = ((placement.keyword, "keyword"), (placement.vector, "vector"))
    places = [(place, stage) for place, stage in both if place is not None]
    if not places:
        if not stops:
            return None
        keyword, vector = keyword_step(facts, stops), vector_step(facts, stops)
        helps = (vector.helps, vector.key) if vector.key else (keyword.helps, keyword.key)
        return stop_step("candidates", f"{keyword.words}, and {vector.words}", helps)
    offered = places[0][0].offered
    ranks = {place.goes_on: "" for place, _ in places}
    for goes_on in ranks:
        of_these = [f"{ordinal(place.rank)} by {stage}" for place, stage in places if place.goes_on == goes_on]
        ranks[goes_on] = " and ".join(of_these)
    if stops:
        each = " of each" if len(places) > 1 else ""
        words = f"ranked {ranks[False]}, and {only_first(offered, each)}"
        return stop_step("candidates", words, HIGHER_LIMIT, offered=offered)
    asked = facts.placement.store_limit
    twice = f"the limit of {asked:,}" if asked == facts.trial.request.limit else f"the {asked:,} the store is asked for"
    words = f"{ranks[True]}; the first {offered:,} are candidates (2 × {twice})"
    if False in ranks:
        words += f"; {ranks[False]} ranks too low, so that score counts as missing"
    return Step("candidates", "passed", words, {"offered": offered})


def fusion_step(facts: Facts, stops: bool) -> Step | None:
    """How the score is made of its parts."""
    placement, settings, profile = facts.placement, facts.trial.settings, facts.trial.profile
    if placement.fused_score is None:
        return None
    score = number(placement.fused_score)
    vector = placement.vector.score if placement.vector is not None and placement.vector.goes_on else None
    parts = ((settings.vector_weight, vector), (settings.keyword_weight, placement.keyword_score))
    if placement.merged:
        rank = f" · rank {placement.fused_rank:,}" if placement.fused_rank is not None else ""
        words = f"{_weighed(parts, divides=profile.divides_by_weights_present)} = {score}{rank}"
    elif placement.keyword is None:
        is_searched = mode_in(settings, profile) != "embedding"
        why = "no memory has a keyword match" if is_searched else "search mode embedding ignores keywords"
        words = f"{why}, so the cosine is the score: {score}"
    elif profile.normalises_keyword_only:
        words = f"words alone: {number(placement.keyword.score)} of the best, {number(placement.best_raw)}, = {score}"
    else:
        words = f"words alone: raw bm25 {score} is the score"
    numbers = {
        "vector": vector,
        "keyword": placement.keyword_score,
        "weights": [weight for weight, _ in parts],
        "score": placement.fused_score,
        "rank": placement.fused_rank,
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


def merge_step(facts: Facts, stops: bool) -> Step | None:
    """The limit of the fused list, which is cut before anything is filtered."""
    rank, limit = facts.placement.fused_rank, facts.placement.merge_limit
    if not stops or rank is None or limit is None:
        return None
    score = number(facts.placement.fused_score)
    words = f"ranked {ordinal(rank)} after fusion with {score}, and {only_first(limit)}"
    return stop_step("merge", words, ("other weights, or a higher limit", "w"), rank=rank, limit=limit)


def like_step(facts: Facts, stops: bool) -> Step:
    """The fall-back for parts of words."""
    placement, query = facts.placement, facts.trial.request.query
    rank, search = placement.like_rank, like_search(query, facts.trial.profile)
    lead, helps = "nothing else matches, so parts of words count:", ADD_A_WORD
    if not stops:
        place = f"{ordinal(rank)} of the newest that contain one" if rank is not None else "it contains one"
        return Step("like", "passed", f"{lead} {place}, scores 1.00", {"rank": rank, "score": 1.0})
    if search is not None and search.fails:
        words, helps = LIKE_FAILS.removesuffix("."), NO_HELP
    elif rank is None or (search is not None and not search.accepts(placement.entry.key, placement.entry.content)):
        words = f"{lead} it contains none of the message's first {LIKE_WORDS} words"
    else:
        newest = f"{ordinal(rank)} of the newest that contain part of the message"
        words, helps = f"{newest}, and {only_first(placement.store_limit)}", HIGHER_LIMIT
    return stop_step("like", words, helps, rank=rank)


def filter_step(name: FilterName, facts: Facts, stops: bool) -> Step | None:
    """The filter, where it keeps the memory out."""
    return filter_stop(facts, name) if stops else None


def filter_stop(facts: Facts, name: FilterName) -> Step:
    """The filter that keeps it out."""
    request, entry = facts.trial.request, facts.placement.entry
    match name:
        case "superseded":
            if not entry.superseded_by:
                return stop_step(name, "it is marked as superseded, but nothing records by which memory")
            words, helps = (
                f"a newer memory replaced it: {shown_name(entry.superseded_by)}",
                ("look at the newer one", "x"),
            )
        case "time":
            since = f" from {shown_name(request.since)} on" if request.since else ""
            until = f" until {shown_name(request.until)}" if request.until else ""
            words = f"created {shown_name(entry.timestamp)}, and recall is{since}{until}"
            helps = ("recall without the time bounds", "F")
        case "session":
            owner = f"it belongs to session {shown_name(entry.session_id)}" if entry.session_id else "it has no session"
            words = f"{owner}, and the message comes from {shown_name(request.session_id or '')}"
            helps = ("recall without the session", "F")
        case "agent":
            owner = f"it belongs to agent {shown_name(entry.agent)}" if entry.agent else "it belongs to no agent"
            words = f"{owner}, and recall is for {listed(map(shown_name, request.agents or ()))}"
            helps = ("recall for its agent", "F")
        case "namespace":
            words = f"it is in namespace {shown_name(entry.namespace or DEFAULT_NAMESPACE)}"
            words += f", and recall is in {shown_name(request.namespace or '')}"
            helps = ("recall in its namespace", "F")
    return stop_step(name, words, helps)


def own_step(facts: Facts, stops: bool) -> Step:
    """The rank and score that a backend's own rule gives."""
    if stops:
        return own_stops(facts)[0]
    placement, judged = facts.placement, facts.placement.judged
    rank = placement.rank if judged is None else judged.rank
    score = placement.fused_score if judged is None else judged.score
    rule = f"{_own_name(facts)}'s own rule" if facts.program is None else f"the rule of {facts.program}"
    place = f"rank {rank:,} by {rule}" if rank is not None else f"found by {rule}"
    words = " · ".join((place, _own_score(facts, score), *facts.reasons))
    return Step("rank", "passed", words, {"rank": rank, "score": score, "scale": facts.result.scale})


def _own_name(facts: Facts) -> str:
    return shown_name(facts.program or facts.own_rule or "")


def _own_scale(facts: Facts) -> str:
    return "" if facts.result.scale in ("", "none", "its own") else shown_name(facts.result.scale)


def _own_score(facts: Facts, score: float | None) -> str:
    scale = _own_scale(facts)
    if score is None:
        return f"no score ({scale})" if scale else "no score"
    if facts.own_rule == "markdown" and facts.shares:
        found = sum(share.is_found for share in facts.shares)
        if abs(found / len(facts.shares) - score) < _ROUNDING:
            return f"{found} of {len(facts.shares)} words = {number(score)}"
    return f"{scale} = {number(score)}" if scale else f"score {number(score)}"


def own_stops(facts: Facts) -> list[Step]:
    """Everything that is known to leave it out of the answer of a backend's own rule, the first of it first."""
    rule, scale = _own_name(facts), {"scale": facts.result.scale}
    stops = [Step("rank", "stopped", reason, scale) for reason in facts.reasons]
    stops = stops or [filter_stop(facts, name) for name in facts.left_out_by]
    if stops:
        return [replace(stop, name="rank", words=f"{rule} leaves it out: {stop.words}") for stop in stops]
    by = f" (it scores by {_own_scale(facts)})" if _own_scale(facts) else ""
    wants, helps = "", ADD_A_WORD
    if facts.own_rule == "qdrant" or facts.placement.path == "vector" or facts.result.scale == "none":
        helps = NO_HELP
    elif facts.own_rule == "postgres":
        has_ranks = parse_version(facts.trial.profile.version) >= POSTGRES_RANKS_SINCE
        asked = "every word of the message" if has_ranks else "the exact message"
        wants, helps = f", because it must contain {asked}", (f"edit it to contain {asked}", "e")
    return [stop_step("rank", f"{rule}'s own rule does not find it{by}{wants}", helps, **scale)]


def recent_step(facts: Facts, stops: bool) -> Step:
    """Its place among the newest, which a blank message lists."""
    listing = "a lone *" if facts.trial.request.query.strip() else "a blank message"
    if stops:
        words = f"{listing} lists the newest, and {only_first(facts.placement.store_limit)}"
        return stop_step("recent", words, HIGHER_LIMIT)
    rank = facts.placement.rank
    place = f"{ordinal(rank)} of the newest" if rank is not None else "among the newest"
    return Step("recent", "passed", f"{listing} lists the newest: {place}, without a score", {"rank": rank})


def query_step(facts: Facts, stops: bool) -> Step | None:
    """A blank message, for which some versions find nothing."""
    words = f"ZeroClaw {facts.trial.profile.version} finds nothing for a blank message"
    return stop_step("query", words, ("another scoring version", "p")) if stops else None
