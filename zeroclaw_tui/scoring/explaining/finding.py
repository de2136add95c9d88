"""The stages that find a memory and score it, in words: its words, its vector, the cut, the fused score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zeroclaw_tui.scoring.evidence import WordShare
from zeroclaw_tui.scoring.explaining.step import Step, Told
from zeroclaw_tui.scoring.explaining.text import first, listed, name, number, ordinal
from zeroclaw_tui.scoring.injection import RECALL_LIMIT
from zeroclaw_tui.scoring.keywords import LIKE_WORDS, like_search
from zeroclaw_tui.scoring.keywords import words as message_words
from zeroclaw_tui.scoring.settings import SearchMode
from zeroclaw_tui.scoring.way import NoVector, StagePlace

_NOT_BY_VECTOR: dict[NoVector, str] = {
    "no query vector": "the message has no vector",
    "mode": "search mode bm25 does not look at vectors",
    "no embedding": "it has no vector",
    "other length": "its vector has another length than the message's",
    "out of scope": "its vector is not compared",
}
_MOST_MATCHES = 4
_SAME_SHARE = 1e-9
RE_EMBED = "re-embed it"


def words_step(told: Told) -> Step:
    """Which words of the message are in it, and what each adds to its word score."""
    found = [share for share in told.shares if share.is_found]
    missing = [share.word for share in told.shares if not share.is_found]
    numbers = {
        "matched": [{"word": each.word, "bm25": each.share, "rows": each.rows} for each in found],
        "missing": missing,
    }
    if not told.shares:
        return Step("words", "absent", "the message has no words", numbers)
    if not found:
        return Step("words", "absent", f"none of the message's words is in it: {listed(missing)}", numbers)
    total = sum(share.share for share in found if share.share is not None)
    rows = told.recall.store_rows
    shown = [_match(share, total, rows, is_first=place == 0) for place, share in enumerate(found[:_MOST_MATCHES])]
    rest = f" and {listed([share.word for share in found[_MOST_MATCHES:]])}" if len(found) > _MOST_MATCHES else ""
    lacks = f" – not in it: {listed(missing)}" if missing else ""
    return Step("words", "passed", f"matches {', '.join(shown)}{rest}{lacks}", numbers)


def _match(share: WordShare, total: float, store_rows: int | None, *, is_first: bool) -> str:
    facts = []
    if share.rows is not None:
        of = f" of {store_rows:,}" if store_rows is not None else ""
        what = f" {'memory' if (store_rows or share.rows) == 1 else 'memories'}" if is_first else ""
        facts.append(f"in {share.rows:,}{of}{what}")
    if share.share is not None:
        facts.append(f"{number(share.share)} of {number(total)}")
    return f"“{name(share.word)}”" + (f" ({', '.join(facts)})" if facts else "")


def mode_of(told: Told) -> SearchMode:
    """The search mode in force; versions before 0.6.3 do not read it."""
    return told.trial.settings.search_mode if told.trial.profile.search_modes else "hybrid"


def keyword_step(told: Told) -> Step:
    """The word score, raw and as a share of the best, and the rank among the hits."""
    place, best = told.way.keyword, told.way.best_raw
    if place is None:
        return Step("keyword", "absent", _no_keyword(told), {}, *_help_without_words(told))
    share = told.keyword_score
    shown = f"bm25 {number(place.score)}"
    if share is not None and best:
        shown += f" of {number(best)} = {number(share)}"
    numbers = {"bm25": place.score, "best_bm25": best, "score": share, **_place_numbers(place)}
    return Step("keyword", "passed", f"{shown} · {_rank(place)}", numbers)


def _no_keyword(told: Told) -> str:
    if told.way.out_of_stages is not None:
        return f"not looked for in memories of another {told.way.out_of_stages}"
    if mode_of(told) == "embedding":
        return "search mode embedding does not look at words"
    if told.is_refused:
        return "FTS5 cannot read this message, so no memory has a hit by words"
    if any(share.is_found for share in told.shares):
        return "no hit by words, though it has some of them"
    return "no hit by words"


def _help_without_words(told: Told) -> tuple[str, str]:
    """What would give it a hit by words, and the key for it."""
    if told.way.out_of_stages is not None:
        return "", ""
    if mode_of(told) == "embedding":
        return "another search mode", "w"
    if told.is_refused:
        return ("another scoring version", "p") if told.is_refused_for_quotes else ("a message without its NUL", "")
    return "edit it to have a word of the message", "e"


def vector_step(told: Told) -> Step:
    """The cosine and the rank among the hits, or why there is none."""
    place, why = told.way.vector, told.way.no_vector
    if place is not None:
        numbers = {"cosine": place.score, **_place_numbers(place)}
        return Step("vector", "passed", f"cosine {number(place.score)} · {_rank(place)}", numbers)
    if why == "mode":
        return Step(
            "vector", "absent", "search mode bm25 does not look at vectors", {"why": why}, "another search mode", "w"
        )
    if why == "no embedding":
        words = "no embedding on this row (stored while embeddings were off)"
        return Step("vector", "absent", words, {"why": why}, RE_EMBED, "R")
    if why == "other length":
        length = told.way.entry.embedding_dimensions
        of = f" ({length:,} numbers)" if length else ""
        words = f"its vector{of} has another length than the message's: another model made it"
        return Step("vector", "absent", words, {"why": why, "dimensions": length}, RE_EMBED, "R")
    if why == "not above 0":
        return Step("vector", "absent", "cosine not above 0: by its vector it has nothing in common", {"why": why})
    if why == "out of scope":
        return Step("vector", "absent", f"not compared: {_out_of_scope(told)}", {"why": why})
    because, _, helps = told.recall.why_no_vector.partition("; ")
    words = f"the message has no vector: {because}" if because else "the message has no vector"
    return Step("vector", "absent", words, {"why": why or "no query vector"}, helps)


def _out_of_scope(told: Told) -> str:
    return f"it is of another {told.way.out_of_stages or 'session'}"


def _rank(place: StagePlace) -> str:
    return f"rank {place.rank:,} of {place.hits:,}"


def _place_numbers(place: StagePlace) -> dict[str, int | bool]:
    return {"rank": place.rank, "hits": place.hits, "offered": place.offered, "goes_on": place.goes_on}


def candidates_step(told: Told) -> Step | None:
    """How it stands to the 2 x limit that goes on from each stage; None where no stage found it."""
    places = _places(told)
    if not places:
        return None
    passing = [(place, stage) for place, stage in places if place.goes_on]
    failing = [(place, stage) for place, stage in places if not place.goes_on]
    words = f"{_ranked(passing)}, and the first {places[0][0].offered:,} go on ({_twice(told)})"
    if failing:
        words += f"; {_ranked(failing)} is too far down, so that score counts as missing"
    return Step("candidates", "passed", words, {"offered": places[0][0].offered})


def candidates_stop(told: Told) -> Step:
    """No stage found it, or each ranked it too far down."""
    places = _places(told)
    if not places:
        return Step("candidates", "stopped", _found_by_nothing(told), {}, *_to_be_found(told))
    offered = places[0][0].offered
    each = " of each" if len(places) > 1 else ""
    words = f"ranked {_ranked(places)}, and {first(offered, each)}"
    helps = _limit_of(_limit_for(told, min(place.rank for place, _ in places), offered))
    return Step("candidates", "stopped", words, {"offered": offered}, helps, "w")


def _places(told: Told) -> list[tuple[StagePlace, str]]:
    both = ((told.way.keyword, "keyword"), (told.way.vector, "vector"))
    return [(place, stage) for place, stage in both if place is not None]


def _ranked(places: Sequence[tuple[StagePlace, str]]) -> str:
    return " and ".join(f"{ordinal(place.rank)} by {stage}" for place, stage in places)


def _twice(told: Told) -> str:
    limit = told.way.store_limit
    if limit == told.trial.request.limit:
        return f"2 × the limit of {limit:,}"
    return f"2 × the {limit:,} asked of the store"


def _limit_of(limit: int) -> str:
    return f"a limit of {limit:,}" + (f" (ZeroClaw recalls with {RECALL_LIMIT})" if limit > RECALL_LIMIT else "")


def higher_limit(told: Told) -> str:
    """The advice of a higher limit, with what ZeroClaw has where that is no more than what was asked."""
    return "a higher limit" + (
        f" (ZeroClaw recalls with {RECALL_LIMIT})" if told.trial.request.limit >= RECALL_LIMIT else ""
    )


def _limit_for(told: Told, rank: int, offered: int) -> int:
    """The smallest limit of the request with which a stage passes this rank on."""
    limit = max(told.trial.request.limit, 1)
    share = max(offered // limit, 1)
    return max(-(-rank // share), limit + 1)


def _found_by_nothing(told: Told) -> str:
    why, looks = told.way.no_vector, mode_of(told) != "embedding"
    by_words = "its words do not find it" if looks else "search mode embedding does not look at words"
    if why is not None and why != "not above 0":
        return f"{by_words}, and {_NOT_BY_VECTOR[why]}"
    return "neither its words nor its vector find it" if looks else f"its vector does not find it, and {by_words}"


def _to_be_found(told: Told) -> tuple[str, str]:
    if told.way.no_vector in ("no embedding", "other length"):
        return RE_EMBED, "R"
    return _help_without_words(told)


def fusion_step(told: Told) -> Step | None:
    """How the score is made of its parts; None where it has none."""
    way, profile = told.way, told.trial.profile
    if way.fused_score is None:
        return None
    score = number(way.fused_score)
    numbers = {
        "vector": told.vector_score,
        "keyword": told.keyword_score,
        "weights": [told.trial.settings.vector_weight, told.trial.settings.keyword_weight],
        "score": way.fused_score,
        "rank": way.fused_rank,
    }
    if way.merged:
        words = f"{_weighed(told)} = {score}{_fused_rank(told)}"
    elif way.keyword is None:
        looks = mode_of(told) != "embedding"
        why = "no words are found anywhere" if looks else "search mode embedding does not look at words"
        words = f"{why}, so the cosine is the score: {score}"
    elif profile.normalises_keyword_only:
        words = f"words alone: {number(way.keyword.score)} of the best, {number(way.best_raw)}, = {score}"
    else:
        words = f"words alone: raw bm25 {score} is the score"
    return Step("fusion", "passed", words, numbers)


def _weighed(told: Told) -> str:
    """The sum with the numbers put in; from 0.8.4 on divided by the weights of the parts that are there."""
    settings = told.trial.settings
    both = ((settings.vector_weight, told.vector_score), (settings.keyword_weight, told.keyword_score))
    if not told.trial.profile.divides_by_weights_present:
        return " + ".join(f"{weight:g} × {number(part)}" for weight, part in both)
    present = [(weight, part) for weight, part in both if part is not None]
    terms = " + ".join(f"{weight:g} × {number(part)}" for weight, part in present)
    if len(present) < 2:
        return f"{terms} / {present[0][0]:g}" if present else number(None)
    return f"({terms}) / ({' + '.join(f'{weight:g}' for weight, _ in present)})"


def _fused_rank(told: Told) -> str:
    return f" · rank {told.way.fused_rank:,}" if told.way.fused_rank is not None else ""


def merge_stop(told: Told) -> Step:
    """Behind the limit of the fused list, which is cut before anything is filtered."""
    way = told.way
    limit = way.merge_limit or way.store_limit
    place = f"ranked {ordinal(way.fused_rank)}" if way.fused_rank is not None else "ranked"
    words = f"{place} after fusion with {number(way.fused_score)}, and {first(limit)}"
    return Step(
        "merge",
        "stopped",
        words,
        {"rank": way.fused_rank, "limit": limit},
        f"other weights, or {higher_limit(told)}",
        "w",
    )


def like_step(told: Told) -> Step:
    """The fall-back for parts of words found it."""
    rank = told.way.like_rank
    place = f"{ordinal(rank)} of the newest that hold one" if rank is not None else "it holds one"
    words = f"nothing else is left, so parts of words count: {place}, scores 1.00"
    return Step("like", "passed", words, {"rank": rank, "score": 1.0})


def like_stop(told: Told) -> Step:
    """The fall-back does not find it either, or has newer rows enough."""
    rank, query = told.way.like_rank, told.trial.request.query
    edit = "edit it to have a word of the message", "e"
    if rank is None:
        looked_for = f"first {LIKE_WORDS} words" if len(message_words(query)) > LIKE_WORDS else "words"
        words = f"nothing else is left, so parts of words count: it holds none of the message's {looked_for}"
        return Step("like", "stopped", words, {"rank": None}, *edit)
    search, entry = like_search(query, told.trial.profile), told.way.entry
    if search is not None and not search.accepts(entry.key, entry.content):
        begins = listed([word[:-1] for word in search.words if word.endswith("*")])
        words = f"nothing else is left, so parts of words count: none of its words begins with {begins}"
        return Step("like", "stopped", words, {"rank": rank}, *edit)
    words = f"{ordinal(rank)} of the newest that hold part of the message, and {first(told.way.store_limit)}"
    return Step("like", "stopped", words, {"rank": rank}, higher_limit(told), "w")


def own_step(told: Told) -> Step:
    """The rank and score that a backend's own rule gives."""
    judged = told.way.judged
    rank = told.way.rank if told.way.rank is not None else judged.rank if judged is not None else None
    score = judged.score if judged is not None else told.way.fused_score
    rule = f"{name(told.recall.own_rule or told.way.path)}'s own rule"
    if told.recall.program is not None:
        rule = f"the rule of {told.recall.program}"
    place = f"rank {rank:,} by {rule}" if rank is not None else f"found by {rule}"
    words = f"{place} · {_own_score(told, score)}" + (f" · {told.recall.told}" if told.recall.told else "")
    return Step("rank", "passed", words, {"rank": rank, "score": score, "scale": told.recall.scale})


def _own_score(told: Told, score: float | None) -> str:
    scale = name(told.recall.scale) if told.recall.has_scale else ""
    if score is None:
        return f"no score ({scale})" if scale else "no score"
    if told.recall.own_rule == "markdown" and told.shares:
        found = sum(share.is_found for share in told.shares)
        if abs(found / len(told.shares) - score) < _SAME_SHARE:
            return f"{found} of {len(told.shares)} words = {number(score)}"
    return f"{scale} = {number(score)}" if scale else f"score {number(score)}"


def each_found(told: Told) -> Iterator[Step]:
    """Words, keyword and vector stage, in this order."""
    yield words_step(told)
    if told.is_staged:
        yield keyword_step(told)
        yield vector_step(told)
