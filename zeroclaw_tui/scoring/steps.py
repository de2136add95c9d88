"""Every stage of a recall as a step of an explanation, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.recall import UNLIMITED, ScoredEntry, Stop
from zeroclaw_tui.memory.text import cut, distinct_numbers, one_line
from zeroclaw_tui.scoring.evidence import DEFAULT_NAMESPACE, DURABLE, WordShare
from zeroclaw_tui.scoring.injection import (
    HALF_LIFE_DAYS,
    MOST_CHARACTERS,
    MOST_ENTRIES,
    MOST_ENTRY_CHARACTERS,
    RECALL_LIMIT,
    THREATS,
    age_in_days,
    characters_used,
    skip_rules,
)
from zeroclaw_tui.scoring.keywords import LIKE_FAILS, LIKE_WORDS, like_search
from zeroclaw_tui.scoring.keywords import words as message_words
from zeroclaw_tui.scoring.placement import NoVector, Placement, StageName, StagePlace
from zeroclaw_tui.scoring.profiles import SearchMode, Trial, mode_in, parse_version
from zeroclaw_tui.scoring.weights import POSTGRES_RANKS_SINCE

Mark = Literal["passed", "stopped", "absent"]
"""✓, ✗ and –: passes, is stopped here, or has no part in it (which alone stops nothing)."""
StepName = Literal["words", "keyword", "vector", "fusion", "decay", "prompt"] | StageName

REFUSED_QUERY = "FTS5 refuses this query"
"""How the store's note begins where FTS5 could not read the message."""
NOTHING = "–"
LONGEST_NAME = 40
MOST_WORDS = 8
_MOST_DECIMALS = 8
_NOT_BY_VECTOR: dict[NoVector, str] = {
    "no query vector": "the message has no vector",
    "mode": "search mode bm25 ignores vectors",
    "no embedding": "it has no vector",
    "other length": "its vector has a different length than the message's",
    "out of scope": "its vector is not compared",
}
_MOST_MATCHES = 4
_SAME_SHARE = 1e-9
RE_EMBED = "re-embed it"
_HELPS: dict[StageName, tuple[str, str]] = {
    "superseded": ("look at the newer one", "x"),
    "time": ("recall without the time bounds", "F"),
    "session": ("recall without the session", "F"),
    "agent": ("recall for its agent", "F"),
    "namespace": ("recall in its namespace", "F"),
}
_SKIPPED = {
    "assistant reply": (
        "ZeroClaw skips its own replies (keys that begin with assistant_resp)",
        "rename it",
        "e",
    ),
    "user message": ("ZeroClaw skips saved messages (keys that begin with user_msg)", "rename it", "e"),
    "history key": ("ZeroClaw skips histories (keys that end in _history)", "rename it", "e"),
    "same key as one before": (
        "another memory with the same key ranks before it, and ZeroClaw uses only the first",
        "rename it",
        "e",
    ),
    "image": ("ZeroClaw skips content with [IMAGE:", "edit it", "e"),
    "tool result": ("ZeroClaw skips content with <tool_result", "edit it", "e"),
    "auto-save noise": ("ZeroClaw skips content that looks like its own records", "edit it", "e"),
    "empty content": ("its content is blank", "edit it", "e"),
    "conversation on a scheduled turn": (
        "cron and heartbeat do not get conversation memories",
        "another category",
        "e",
    ),
    "conversation without a session": (
        "it is a conversation memory, and the message has no session",
        "recall in a session",
        "w",
    ),
}
_SHOWN_AS_0 = 0.005
_EXACT_SESSIONS = ("postgres", "qdrant", "in-memory")
"""The backends whose recall in a session leaves out what has none, whatever the version."""
_ONE_NAMESPACE = ("markdown", "redis")
"""The backends whose memories all count as of the default namespace."""
FILTERS: tuple[StageName, ...] = ("superseded", "time", "session", "agent", "namespace")
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of the way. `words` say in one line what happened, `numbers` are the same for scripts.

    `helps` is what a person could do about it, in a few words, and `key` the key of the inspector that does it.
    """

    name: StepName
    mark: Mark
    words: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    helps: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class WholeRecall:
    """What holds for the recall as a whole, as far as it is known.

    `results` is the recall's answer. `own_rule` names the backend where it ranks by a rule of its own, and `scale` the
    range of its scores. `store_rows` is how many memories there are, `why_no_vector` a few words on why the message has
    no vector. `lost_of_session` counts memories of the request's session that a stage found and a cut before the
    session filter took away.
    """

    results: Sequence[ScoredEntry] = ()
    scale: str = ""
    own_rule: str | None = None
    store_rows: int | None = None
    why_no_vector: str = ""
    lost_of_session: int = 0
    notes: tuple[str, ...] = ()
    program: str | None = None
    """The other program whose store and rule it is; its answer is the end of the way then."""
    reasons: tuple[str, ...] = ()
    """What that rule does with this memory, in clauses: how it comes to return it, or everything that leaves it out."""
    has_sessions: bool = False
    """Whether a store that ranks by a rule of its own has sessions."""

    @property
    def has_scale(self) -> bool:
        """Whether the scale has a name that says something."""
        return self.scale not in ("", "none", "its own")


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a step is written from."""

    placement: Placement
    trial: Trial
    shares: Sequence[WordShare]
    recall: WholeRecall

    @property
    def is_staged(self) -> bool:
        """Whether keyword and vector stages, merge and filters decide, and no rule of the backend's own."""
        return self.recall.own_rule is None

    @property
    def is_weighed(self) -> bool:
        """Whether the weights decide anything: nowhere but where hits by words and by vector are merged."""
        return self.is_staged and self.placement.merged

    @property
    def vector_score(self) -> float | None:
        """The cosine that counts: that of a hit that goes on."""
        place = self.placement.vector
        return place.score if place is not None and place.goes_on else None

    @property
    def keyword_score(self) -> float | None:
        """The normalised word score that counts: that of a hit that goes on."""
        place = self.placement.keyword
        return self.placement.keyword_score if place is not None and place.goes_on else None

    @property
    def mode(self) -> SearchMode:
        """The search mode in force."""
        return mode_in(self.trial.settings, self.trial.profile)

    @property
    def is_scanned(self) -> bool:
        """Whether the content scanner stands between store and agent."""
        return self.trial.profile.scans_content and self.trial.request.layer == "agent"

    @property
    def is_refused(self) -> bool:
        """Whether FTS5 could not read the message, so that no memory has a hit by words."""
        return any(REFUSED_QUERY in note for note in self.recall.notes)

    @property
    def is_refused_for_quotes(self) -> bool:
        """Whether a version that doubles quotes could read it; a NUL ends the message for FTS5 in every version."""
        return not self.trial.profile.escapes_quotes and "\0" not in self.trial.request.query


def number(value: float | None) -> str:
    """Two decimals, or as many more as it takes to see that it is not 0; what does not exist is a dash."""
    if value is None:
        return NOTHING
    if math.isnan(value):
        return "no number"
    if math.isinf(value):
        return "-∞" if value < 0 else "∞"
    for decimals in range(2, _MOST_DECIMALS):
        shown = f"{value:,.{decimals}f}"
        if value == 0 or shown.strip("-0.,"):
            return shown
    return f"{value:.0e}"


def ordinal(place: int) -> str:
    """ "1st", "14th", "1,002nd"."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if place % 100 in (11, 12, 13) else endings.get(place % 10, "th")
    return f"{place:,}{ending}"


def name(text: str) -> str:
    """A name somebody else chose, cleaned and not too long."""
    return cut(one_line(text), LONGEST_NAME) or "(blank)"


def quoted(text: str) -> str:
    """The same within a sentence."""
    return f"“{name(text)}”"


def listed(names: Sequence[str], as_shown: Callable[[str], str] = name) -> str:
    """Names with commas, the first few of them."""
    shown = ", ".join(map(as_shown, names[:MOST_WORDS]))
    return f"{shown} and {len(names) - MOST_WORDS:,} more" if len(names) > MOST_WORDS else shown


def first(count: int, of: str = "") -> str:
    """ "only the first passes", "only the first 10 of each pass"."""
    which = "first" if count == 1 else f"first {count:,}"
    return f"only the {which}{of} {'passes' if count == 1 else 'pass'}"


def words_step(facts: Facts) -> Step:
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
        return Step("words", "absent", f"contains no word of the message: {listed(missing)}", numbers)
    total = sum(share.share for share in found if share.share is not None)
    rows = facts.recall.store_rows
    shown = [_match(share, total, rows, is_first=place == 0) for place, share in enumerate(found[:_MOST_MATCHES])]
    others = [share.word for share in found[_MOST_MATCHES:]]
    rest = f" and {listed(others, quoted)}" if others else ""
    lacks = f"; missing: {listed(missing)}" if missing else ""
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


def keyword_step(facts: Facts) -> Step:
    """The word score, raw and as a share of the best, and the rank among the hits."""
    place, best = facts.placement.keyword, facts.placement.best_raw
    if place is None:
        return Step("keyword", "absent", _no_keyword(facts), {}, *_help_without_words(facts))
    share = facts.keyword_score
    shown = f"bm25 {number(place.score)}"
    if share is not None and best:
        shown += f" of {number(best)} = {number(share)}"
    numbers = {"bm25": place.score, "best_bm25": best, "score": share, **_place_numbers(place)}
    return Step("keyword", "passed", f"{shown} · {_rank(place)}", numbers)


def _no_keyword(facts: Facts) -> str:
    if facts.placement.out_of_stages is not None:
        return f"memories of another {facts.placement.out_of_stages} are not searched"
    if facts.mode == "embedding":
        return "search mode embedding ignores keywords"
    if facts.is_refused:
        return "FTS5 cannot read this message, so no memory has a keyword match"
    if any(share.is_found for share in facts.shares):
        return "no keyword match, although it contains some of the words"
    return "no keyword match"


def _help_without_words(facts: Facts) -> tuple[str, str]:
    """What would give it a hit by words, and the key for it."""
    if facts.placement.out_of_stages is not None:
        return "", ""
    if facts.mode == "embedding":
        return "another search mode", "w"
    if facts.is_refused:
        return ("another scoring version", "p") if facts.is_refused_for_quotes else ("a message without its NUL", "")
    return "edit it to contain a word of the message", "e"


def vector_step(facts: Facts) -> Step:
    """The cosine and the rank among the hits, or why there is none."""
    place, why = facts.placement.vector, facts.placement.no_vector
    if place is not None:
        numbers = {"cosine": place.score, **_place_numbers(place)}
        return Step("vector", "passed", f"cosine {number(place.score)} · {_rank(place)}", numbers)
    if why == "mode":
        return Step("vector", "absent", "search mode bm25 ignores vectors", {"why": why}, "another search mode", "w")
    if why == "no embedding":
        words = "this memory has no vector (stored while embeddings were off)"
        return Step("vector", "absent", words, {"why": why}, RE_EMBED, "R")
    if why == "other length":
        length = facts.placement.entry.embedding_dimensions
        of = f" ({length:,} numbers)" if length else ""
        words = f"its vector{of} has a different length than the message's, because another model made it"
        return Step("vector", "absent", words, {"why": why, "dimensions": length}, RE_EMBED, "R")
    if why == "not above 0":
        return Step("vector", "absent", "cosine not above 0, so it is no match", {"why": why})
    if why == "out of scope":
        return Step("vector", "absent", f"not compared: {_out_of_scope(facts)}", {"why": why})
    because, _, helps = facts.recall.why_no_vector.partition("; ")
    words = f"the message has no vector: {because}" if because else "the message has no vector"
    return Step("vector", "absent", words, {"why": why or "no query vector"}, helps)


def _out_of_scope(facts: Facts) -> str:
    return f"it is of another {facts.placement.out_of_stages or 'session'}"


def _rank(place: StagePlace) -> str:
    return f"rank {place.rank:,} of {place.hits:,}"


def _place_numbers(place: StagePlace) -> dict[str, int | bool]:
    return {"rank": place.rank, "hits": place.hits, "offered": place.offered, "goes_on": place.goes_on}


def candidates_step(facts: Facts) -> Step | None:
    """How it stands to the 2 x limit that goes on from each stage; None where no stage found it."""
    places = _places(facts)
    if not places:
        return None
    passing = [(place, stage) for place, stage in places if place.goes_on]
    failing = [(place, stage) for place, stage in places if not place.goes_on]
    words = f"{_ranked(passing)}; the first {places[0][0].offered:,} are candidates ({_twice(facts)})"
    if failing:
        words += f"; {_ranked(failing)} ranks too low, so that score counts as missing"
    return Step("candidates", "passed", words, {"offered": places[0][0].offered})


def candidates_stop(facts: Facts) -> Step:
    """No stage found it, or each ranked it too far down."""
    places = _places(facts)
    if not places:
        return Step("candidates", "stopped", _found_by_nothing(facts), {}, *_to_be_found(facts))
    offered = places[0][0].offered
    each = " of each" if len(places) > 1 else ""
    words = f"ranked {_ranked(places)}, and {first(offered, each)}"
    helps = _limit_of(_limit_for(facts, min(place.rank for place, _ in places), offered))
    return Step("candidates", "stopped", words, {"offered": offered}, helps, "w")


def _places(facts: Facts) -> list[tuple[StagePlace, str]]:
    both = ((facts.placement.keyword, "keyword"), (facts.placement.vector, "vector"))
    return [(place, stage) for place, stage in both if place is not None]


def _ranked(places: Sequence[tuple[StagePlace, str]]) -> str:
    return " and ".join(f"{ordinal(place.rank)} by {stage}" for place, stage in places)


def _twice(facts: Facts) -> str:
    limit = facts.placement.store_limit
    if limit == facts.trial.request.limit:
        return f"2 × the limit of {limit:,}"
    return f"2 × the {limit:,} requested from the store"


def _limit_of(limit: int) -> str:
    return f"a limit of {limit:,}" + (f" (ZeroClaw recalls with {RECALL_LIMIT})" if limit > RECALL_LIMIT else "")


def higher_limit(facts: Facts) -> str:
    """The advice of a higher limit, with what ZeroClaw has where that is no more than what was asked."""
    return "a higher limit" + (
        f" (ZeroClaw recalls with {RECALL_LIMIT})" if facts.trial.request.limit >= RECALL_LIMIT else ""
    )


def _limit_for(facts: Facts, rank: int, offered: int) -> int:
    """The smallest limit of the request with which a stage passes this rank on."""
    limit = max(facts.trial.request.limit, 1)
    share = max(offered // limit, 1)
    return max(-(-rank // share), limit + 1)


def _found_by_nothing(facts: Facts) -> str:
    why, looks = facts.placement.no_vector, facts.mode != "embedding"
    by_words = "its words do not match" if looks else "search mode embedding ignores keywords"
    if why is not None and why != "not above 0":
        return f"{by_words}, and {_NOT_BY_VECTOR[why]}"
    return "neither its words nor its vector match" if looks else f"its vector does not match, and {by_words}"


def _to_be_found(facts: Facts) -> tuple[str, str]:
    if facts.placement.no_vector in ("no embedding", "other length"):
        return RE_EMBED, "R"
    return _help_without_words(facts)


def fusion_step(facts: Facts) -> Step | None:
    """How the score is made of its parts; None where it has none."""
    placement, profile = facts.placement, facts.trial.profile
    if placement.fused_score is None:
        return None
    score = number(placement.fused_score)
    numbers = {
        "vector": facts.vector_score,
        "keyword": facts.keyword_score,
        "weights": [facts.trial.settings.vector_weight, facts.trial.settings.keyword_weight],
        "score": placement.fused_score,
        "rank": placement.fused_rank,
    }
    if placement.merged:
        words = f"{_weighed(facts)} = {score}{_fused_rank(facts)}"
    elif placement.keyword is None:
        looks = facts.mode != "embedding"
        why = "no memory has a keyword match" if looks else "search mode embedding ignores keywords"
        words = f"{why}, so the cosine is the score: {score}"
    elif profile.normalises_keyword_only:
        words = f"words alone: {number(placement.keyword.score)} of the best, {number(placement.best_raw)}, = {score}"
    else:
        words = f"words alone: raw bm25 {score} is the score"
    return Step("fusion", "passed", words, numbers)


def _weighed(facts: Facts) -> str:
    """The sum with the numbers put in; from 0.8.4 on divided by the weights of the parts that are there."""
    settings = facts.trial.settings
    both = ((settings.vector_weight, facts.vector_score), (settings.keyword_weight, facts.keyword_score))
    if not facts.trial.profile.divides_by_weights_present:
        return " + ".join(f"{weight:g} × {number(part)}" for weight, part in both)
    present = [(weight, part) for weight, part in both if part is not None]
    terms = " + ".join(f"{weight:g} × {number(part)}" for weight, part in present)
    if len(present) < 2:
        return f"{terms} / {present[0][0]:g}" if present else number(None)
    return f"({terms}) / ({' + '.join(f'{weight:g}' for weight, _ in present)})"


def _fused_rank(facts: Facts) -> str:
    return f" · rank {facts.placement.fused_rank:,}" if facts.placement.fused_rank is not None else ""


def merge_stop(facts: Facts) -> Step:
    """Behind the limit of the fused list, which is cut before anything is filtered."""
    placement = facts.placement
    limit = placement.merge_limit or placement.store_limit
    place = f"ranked {ordinal(placement.fused_rank)}" if placement.fused_rank is not None else "ranked"
    words = f"{place} after fusion with {number(placement.fused_score)}, and {first(limit)}"
    return Step(
        "merge",
        "stopped",
        words,
        {"rank": placement.fused_rank, "limit": limit},
        f"other weights, or {higher_limit(facts)}",
        "w",
    )


def like_step(facts: Facts) -> Step:
    """The fall-back for parts of words found it."""
    rank = facts.placement.like_rank
    place = f"{ordinal(rank)} of the newest that contain one" if rank is not None else "it contains one"
    words = f"nothing else matches, so parts of words count: {place}, scores 1.00"
    return Step("like", "passed", words, {"rank": rank, "score": 1.0})


def like_stop(facts: Facts) -> Step:
    """The fall-back does not find it either, or has newer rows enough."""
    rank, query = facts.placement.like_rank, facts.trial.request.query
    edit = "edit it to contain a word of the message", "e"
    search, entry = like_search(query, facts.trial.profile), facts.placement.entry
    if search is not None and search.fails:
        return Step("like", "stopped", LIKE_FAILS.removesuffix("."), {"rank": rank})
    if rank is None:
        looked_for = f"first {LIKE_WORDS} words" if len(message_words(query)) > LIKE_WORDS else "words"
        words = f"nothing else matches, so parts of words count: it contains none of the message's {looked_for}"
        return Step("like", "stopped", words, {"rank": None}, *edit)
    if search is not None and not search.accepts(entry.key, entry.content):
        begins = listed([word[:-1] for word in search.words if word.endswith("*")])
        words = f"nothing else matches, so parts of words count: none of its words begins with {begins}"
        return Step("like", "stopped", words, {"rank": rank}, *edit)
    words = f"{ordinal(rank)} of the newest that contain part of the message, and {first(facts.placement.store_limit)}"
    return Step("like", "stopped", words, {"rank": rank}, higher_limit(facts), "w")


def own_step(facts: Facts) -> Step:
    """The rank and score that a backend's own rule gives."""
    judged = facts.placement.judged
    rank = facts.placement.rank if facts.placement.rank is not None else judged.rank if judged is not None else None
    score = judged.score if judged is not None else facts.placement.fused_score
    rule = f"{name(facts.recall.own_rule or facts.placement.path)}'s own rule"
    if facts.recall.program is not None:
        rule = f"the rule of {facts.recall.program}"
    place = f"rank {rank:,} by {rule}" if rank is not None else f"found by {rule}"
    words = " · ".join((place, _own_score(facts, score), *facts.recall.reasons))
    return Step("rank", "passed", words, {"rank": rank, "score": score, "scale": facts.recall.scale})


def _own_score(facts: Facts, score: float | None) -> str:
    scale = name(facts.recall.scale) if facts.recall.has_scale else ""
    if score is None:
        return f"no score ({scale})" if scale else "no score"
    if facts.recall.own_rule == "markdown" and facts.shares:
        found = sum(share.is_found for share in facts.shares)
        if abs(found / len(facts.shares) - score) < _SAME_SHARE:
            return f"{found} of {len(facts.shares)} words = {number(score)}"
    return f"{scale} = {number(score)}" if scale else f"score {number(score)}"


def each_found(facts: Facts) -> Iterator[Step]:
    """Words, keyword and vector stage, in this order."""
    yield words_step(facts)
    if facts.is_staged:
        yield keyword_step(facts)
        yield vector_step(facts)


def filter_step(facts: Facts, stage: StageName) -> Step | None:
    """A filter it passes, in the words of what was asked; None where nothing was, or where it would not pass."""
    request, entry = facts.trial.request, facts.placement.entry
    words = ""
    if keeps_out(facts, stage):
        return None
    if stage == "superseded":
        words = "no newer memory replaced it" if facts.is_staged and facts.trial.profile.hides_superseded else ""
    elif stage == "time" and (request.since or request.until):
        words = f"created {name(entry.timestamp)}, within the bounds" if facts.trial.profile.has_time_bounds else ""
    elif stage == "session" and request.session_id is not None:
        of_it = f"in session {name(entry.session_id or '')}, like the message"
        durable = f"{name(entry.category)} memories without a session are visible in every session"
        words = of_it if entry.session_id is not None else durable
    elif stage == "agent" and request.agents and _knows_agents(facts):
        words = f"of agent {name(entry.agent or '(none)')}, which is allowed"
    elif stage == "namespace" and request.namespace is not None:
        words = f"in namespace {name(request.namespace)}"
    return Step(stage, "passed", words) if words else None


def keeps_out(facts: Facts, stage: StageName) -> bool:
    """Whether the memory is none of those a filter asks for."""
    request, entry, profile = facts.trial.request, facts.placement.entry, facts.trial.profile
    if stage == "superseded":
        return profile.hides_superseded and entry.superseded_by is not None
    if stage == "time":
        return profile.has_time_bounds and _is_outside(facts)
    if stage == "session":
        is_durable = entry.session_id is None and entry.category in DURABLE and profile.durable_rows_cross_sessions
        is_of_another = None not in request.scopes and entry.session_id not in request.scopes
        return is_of_another and not (is_durable and facts.recall.own_rule not in _EXACT_SESSIONS)
    if stage == "agent":
        return _knows_agents(facts) and bool(request.agents) and entry.agent not in (request.agents or ())
    return request.namespace not in (None, entry.namespace or DEFAULT_NAMESPACE)


def _is_outside(facts: Facts) -> bool:
    """Whether its time is outside the bounds: ZeroClaw's rule compares texts, other stores compare moments."""
    request, created = facts.trial.request, facts.placement.entry.timestamp
    if facts.is_staged:
        early = request.since is not None and created < request.since
        return early or (request.until is not None and created > request.until)
    at, since, until = moment(created), moment(request.since), moment(request.until)
    return at is not None and ((since is not None and at < since) or (until is not None and at > until))


def filter_stop(facts: Facts, stage: StageName) -> Step:
    """The filter that keeps it out."""
    request, entry = facts.trial.request, facts.placement.entry
    if stage == "superseded":
        if not entry.superseded_by:
            return Step(stage, "stopped", "it is marked as superseded, but nothing records by which memory")
        words = f"a newer memory replaced it: {name(entry.superseded_by)}"
    elif stage == "time":
        words = f"created {name(entry.timestamp)}, and recall is {_bounds(facts)}"
    elif stage == "session":
        wanted = name(request.session_id or "")
        owner = "it has no session" if entry.session_id is None else f"it belongs to session {name(entry.session_id)}"
        words = f"{owner}, and the message comes from {wanted}"
    elif stage == "agent":
        owner = "it belongs to no agent" if entry.agent is None else f"it belongs to agent {name(entry.agent)}"
        words = f"{owner}, and recall is for {listed(request.agents or ())}"
    else:
        words = f"it is in namespace {name(entry.namespace or DEFAULT_NAMESPACE)}, and recall is in "
        words += name(request.namespace or "")
    return Step(stage, "stopped", words, {}, *_HELPS[stage])


def own_stops(facts: Facts) -> list[Step]:
    """Everything that is known to leave it out of the answer of a backend's own rule, the first of it first."""
    rule = name(facts.recall.program or facts.recall.own_rule or facts.placement.path)
    numbers = {"scale": facts.recall.scale}
    stops = [Step("rank", "stopped", reason, numbers) for reason in facts.recall.reasons]
    if not stops:
        stops = [filter_stop(facts, stage) for stage in FILTERS if _has_own(facts, stage) and keeps_out(facts, stage)]
    if stops:
        return [replace(stop, name="rank", words=f"{rule} leaves it out: {stop.words}") for stop in stops]
    scale = f" (it scores by {name(facts.recall.scale)})" if facts.recall.has_scale else ""
    since, *helps = _own_wants(facts)
    return [Step("rank", "stopped", f"{rule}'s own rule does not find it{scale}{since}", numbers, *helps)]


def _has_own(facts: Facts, stage: StageName) -> bool:
    """Whether a backend's own rule has this filter: what it does not store leaves nothing out."""
    entry, rule = facts.placement.entry, facts.recall.own_rule
    if stage == "time":
        return rule != "markdown"
    if stage == "session":
        return entry.session_id is not None or facts.recall.has_sessions
    if stage == "agent":
        return entry.agent is not None
    return stage == "namespace" and (entry.namespace is not None or rule in _ONE_NAMESPACE)


def _own_wants(facts: Facts) -> tuple[str, str, str]:
    """What a backend's own rule asks for, what would give it that, and the key for it."""
    rule = facts.recall.own_rule
    if rule == "qdrant" or facts.placement.path == "vector" or facts.recall.scale == "none":
        return "", "", ""
    if rule == "postgres" and parse_version(facts.trial.profile.version) >= POSTGRES_RANKS_SINCE:
        return (
            ", because it must contain every word of the message",
            "edit it to contain every word of the message",
            "e",
        )
    if rule == "postgres":
        return ", because it must contain the exact message", "edit it to contain the exact message", "e"
    return "", "edit it to contain a word of the message", "e"


def _knows_agents(facts: Facts) -> bool:
    return not facts.is_staged or facts.trial.profile.agent_scope != "none"


def _bounds(facts: Facts) -> str:
    request = facts.trial.request
    parts = [f"from {name(request.since)} on" if request.since else "", f"until {name(request.until or '')}"]
    return " ".join(part for part, bound in zip(parts, (request.since, request.until), strict=True) if bound)


def recent_step(facts: Facts) -> Step:
    """Its place among the newest, which a blank message lists."""
    rank = facts.placement.rank
    place = f"{ordinal(rank)} of the newest" if rank is not None else "among the newest"
    return Step("recent", "passed", f"{_listing(facts)} lists the newest: {place}, without a score", {"rank": rank})


def recent_stop(facts: Facts) -> Step:
    """Older than those that are listed."""
    words = f"{_listing(facts)} lists the newest, and {first(facts.placement.store_limit)}"
    return Step("recent", "stopped", words, {}, higher_limit(facts), "w")


def _listing(facts: Facts) -> str:
    return "a lone *" if facts.trial.request.query.strip() else "a blank message"


def query_stop(facts: Facts) -> Step:
    """A blank message that finds nothing."""
    words = f"ZeroClaw {facts.trial.profile.version} finds nothing for a blank message"
    return Step("query", "stopped", words, {}, "another scoring version", "p")


def limit_step(facts: Facts) -> Step | None:
    """Its rank among what is recalled."""
    rank, limit = facts.placement.rank, _recalled(facts)
    if rank is None:
        return None
    what = f"and the first {limit:,} are recalled" if limit < UNLIMITED else "and everything found is recalled"
    words = f"rank {rank:,}, {what}{_for_rerank(facts)}"
    return Step("limit", "passed", words, {"rank": rank, "limit": limit})


def limit_stop(facts: Facts) -> Step:
    """Behind what is recalled."""
    rank, limit = facts.placement.rank, _recalled(facts)
    place = f"ranked {ordinal(rank)}" if rank is not None else "ranked behind what is recalled"
    words = f"{place}, and only the first{f' {limit:,}' if limit != 1 else ''} {'is' if limit == 1 else 'are'} recalled"
    is_enough = rank is not None and limit < rank <= RECALL_LIMIT
    helps = (f"a limit of {rank:,}", "w") if is_enough else _to_rank_higher(facts)
    return Step("limit", "stopped", words + _for_rerank(facts), {"rank": rank, "limit": limit}, *helps)


def _recalled(facts: Facts) -> int:
    return facts.placement.recalled or facts.trial.request.limit


def _for_rerank(facts: Facts) -> str:
    return " for rerank" if facts.trial.reranks else ""


def rerank_step(facts: Facts) -> Step | None:
    """What the rerank stage makes of its score, and the place it gives it; None where it does not come so far."""
    judged = facts.placement.judged
    if judged is None:
        return None
    place = f" · {ordinal(judged.place)} after rerank" if judged.place is not None else ""
    return Step("rerank", "passed", f"{_blended(facts)}{place}", _blend_numbers(facts))


def rerank_stop(facts: Facts) -> Step:
    """A double of a memory before it, or behind what is handed on."""
    rule = _stop(facts).rule
    words = name(rule) if len(rule) < LONGEST_NAME else one_line(rule)
    return Step(
        "rerank", "stopped", f"{words} · {_blended(facts)}", _blend_numbers(facts), "other numbers for rerank", "w"
    )


def _blended(facts: Facts) -> str:
    """The blend with its numbers put in; weights that do not add up to 1 are divided by their sum."""
    blend = facts.placement.blend
    if blend is None:
        return "without a score there is nothing to blend"
    parts = (blend.relevance, blend.importance, blend.recency)
    terms = " + ".join(
        f"{what}{number(part)} × {weight:g}"
        for what, part, weight in zip(("", "importance ", "recency "), parts, blend.weights, strict=True)
    )
    total = sum(blend.weights)
    return (
        f"({terms}) / {total:g} = {number(blend.score)}"
        if abs(total - 1) > _ROUNDING
        else f"{terms} = {number(blend.score)}"
    )


def _blend_numbers(facts: Facts) -> dict[str, object]:
    blend, judged = facts.placement.blend, facts.placement.judged
    if blend is None or judged is None:
        return {"score": None, "place": None if judged is None else judged.place}
    return {
        "score": blend.relevance,
        "importance": blend.importance,
        "recency": blend.recency,
        "weights": list(blend.weights),
        "reranked": blend.score,
        "place": judged.place,
    }


def _to_rank_higher(facts: Facts) -> tuple[str, str]:
    """What ranks it before others, and the key for it."""
    if facts.is_weighed:
        return "other weights that rank it higher", "w"
    return ("", "") if facts.recall.own_rule == "qdrant" else ("edit it to contain more words of the message", "e")


def scanner_step(facts: Facts) -> Step | None:
    """The content scanner saw nothing; None where there is none, or where the memory does not come so far."""
    if not facts.is_scanned or facts.placement.judged is None:
        return None
    if facts.trial.settings.threat_scan == "off":
        return Step("scanner", "passed", "switched off")
    return Step("scanner", "passed", "nothing in it looks like an attack")


def scanner_stop(facts: Facts) -> Step:
    """What withholds it from the agent."""
    candidate, entry = facts.placement.candidate, facts.placement.entry
    kind = (candidate.withheld if candidate is not None else None) or entry.withheld or ""
    if kind in THREATS:
        words = f"withheld from the agent as {kind}: it looks like {THREATS[kind]}"
        return Step("scanner", "stopped", words, {"kind": kind}, "edit it, or threat_scan in config.toml", "e")
    return Step("scanner", "stopped", f"withheld from the agent: {name(kind)}", {"kind": kind})


def decay_step(facts: Facts) -> Step | None:
    """The score after time; None where this version and rule do not decay, or where there is no score."""
    judged = facts.placement.judged
    if judged is None or judged.score is None or judged.decayed is None:
        return None
    entry = facts.placement.entry
    age = age_in_days(entry.timestamp, facts.trial.request.as_of)
    numbers = {"score": judged.score, "age_days": age, "decayed": judged.decayed}
    if entry.category == "core":
        return Step("decay", "passed", "core memories do not fade", numbers)
    if age is None:
        return Step("decay", "passed", "its time cannot be read, so it does not fade", numbers)
    days = f"{age:,.1f}"
    words = f"{number(judged.score)} × 2^(-{days} d / {HALF_LIFE_DAYS:g} d) = {faded(judged.decayed)}"
    return Step("decay", "passed", words, numbers)


def threshold_step(facts: Facts) -> Step:
    """The number held against the threshold, which it reaches."""
    compared_score, threshold = _compared_score(facts), facts.trial.settings.threshold
    numbers = {"score": compared_score, "threshold": threshold}
    if compared_score is None:
        return Step("threshold", "passed", "without a score it always passes", numbers)
    shown = distinct_numbers(compared_score, threshold)
    return Step("threshold", "passed", f"{shown[0]} ≥ {shown[1]}", numbers)


def threshold_stop(facts: Facts) -> Step:
    """The score does not reach it."""
    compared_score, threshold = _compared_score(facts) or 0.0, facts.trial.settings.threshold
    shown = shown_below_threshold(facts)
    numbers = {"score": compared_score, "threshold": threshold}
    words = f"{shown[0]} < {shown[1]}"
    candidate = facts.placement.candidate
    if has_faded(facts) and candidate is not None and (candidate.score or 0.0) >= threshold:
        return Step("threshold", "stopped", words, numbers, "the category core, which does not fade", "e")
    low = _just_under(compared_score)
    ways = ([f"a threshold of {low}"] if low != "0.00" else []) + (["other weights"] if facts.is_weighed else [])
    return Step("threshold", "stopped", words, numbers, ", or ".join(ways) or "a threshold of 0", "w")


def shown_below_threshold(facts: Facts) -> tuple[str, str]:
    """The compared score and the threshold, with decimals that show which is smaller."""
    score = _compared_score(facts) or 0.0
    shown, limit = distinct_numbers(score, facts.trial.settings.threshold)
    return (number(score) if shown == "0.00" and not has_faded(facts) else shown), limit


def has_faded(facts: Facts) -> bool:
    """Whether its age alone keeps it under the threshold, or under half of what it was."""
    judged = facts.placement.candidate
    if judged is None or judged.score is None or judged.decayed is None:
        return False
    return judged.decayed < facts.trial.settings.threshold and judged.decayed < judged.score / 2


def faded(value: float) -> str:
    """A score after time: what is all but gone is 0.00."""
    return "0.00" if 0 <= value < _SHOWN_AS_0 else number(value)


def _compared_score(facts: Facts) -> float | None:
    candidate = facts.placement.candidate
    return None if candidate is None else candidate.compared_score


def _just_under(score: float) -> str:
    """A threshold with two decimals that this score reaches."""
    return f"{math.floor(score * 100) / 100:.2f}" if math.isfinite(score) else "0.00"


def skip_step(facts: Facts) -> Step:
    """No rule on keys and contents leaves it out."""
    return Step("skip", "passed", "no skip rule applies")


def skip_stop(facts: Facts) -> Step:
    """The rule on keys or contents that leaves it out."""
    return _skip_stop(facts, _stop(facts))


def _stop(facts: Facts) -> Stop:
    """What the injection rules decided on a memory that they stop."""
    judged = facts.placement.judged
    assert judged is not None
    assert judged.stop is not None
    return judged.stop


def _skip_stop(facts: Facts, stop: Stop) -> Step:
    words, helps, key = _SKIPPED.get(stop.rule, (name(stop.rule), "edit it", "e"))
    if stop.rule == "conversation without a session" and facts.placement.entry.session_id is None:
        # A session's recall would leave it out in turn, since it has none.
        helps, key = "another category", "e"
    return Step("skip", "stopped", words, {"rule": stop.rule}, helps, key)


def later_stops(facts: Facts, stopped_at: StageName) -> Iterator[Step]:
    """Everything else that would stop it, as far as that is known without the stage that stops it."""
    if stopped_at == "rank":
        yield from own_stops(facts)[1:]
    elif facts.is_staged:
        yield from (filter_stop(facts, stage) for stage in FILTERS if stage != stopped_at and keeps_out(facts, stage))
    candidate = facts.placement.candidate
    if candidate is None or facts.recall.program is not None:
        return
    if candidate.withheld is not None and stopped_at != "scanner":
        yield scanner_stop(facts)
    if (
        candidate.compared_score is not None
        and candidate.compared_score < facts.trial.settings.threshold
        and stopped_at != "threshold"
    ):
        yield threshold_stop(facts)
    for stop in skip_rules(candidate.entry, facts.trial):
        if stopped_at != "skip" or stop != candidate.stop:
            yield _skip_stop(facts, stop)


def cap_step(facts: Facts) -> Step | None:
    """How much of the prompt is used with it; None where nothing is capped."""
    if not _is_capped(facts) or facts.placement.place is None:
        return None
    place, used = facts.placement.place, _characters(facts)
    words = f"entry {place} of at most {MOST_ENTRIES}"
    numbers: dict[str, int | None] = {"entry": place, "most_entries": MOST_ENTRIES}
    if used is not None:
        words += f", {used:,} of {MOST_CHARACTERS:,} characters used"
        numbers |= {"characters": used, "most_characters": MOST_CHARACTERS}
    length = len(facts.placement.entry.content)
    if length > MOST_ENTRY_CHARACTERS:
        words += f"; only its first {MOST_ENTRY_CHARACTERS:,} of {length:,} characters are injected"
    return Step("cap", "passed", words, numbers)


def cap_stop(facts: Facts) -> Step:
    """The prompt is full before it."""
    if _stop(facts).rule == "characters":
        words = f"it does not fit in the {MOST_CHARACTERS:,} characters that ZeroClaw puts before a message"
    else:
        words = f"{MOST_ENTRIES} memories rank before it, and ZeroClaw injects no more"
    return Step("cap", "stopped", words, {"most_entries": MOST_ENTRIES}, *_to_rank_higher(facts))


def prompt_step(facts: Facts) -> Step:
    """Its place in the prompt."""
    place, of = facts.placement.place, facts.placement.injected
    return Step("prompt", "passed", f"entry {place} of {of}", {"place": place, "of": of})


def _is_capped(facts: Facts) -> bool:
    return facts.trial.request.rule == "channel" or facts.trial.profile.one_injection_rule


def _characters(facts: Facts) -> int | None:
    """How many characters the lines up to and with this one take; None where the answer is not known."""
    place = facts.placement.place or 0
    before = [scored for scored in facts.recall.results if scored.injected][:place]
    if len(before) < place:
        return None
    return characters_used(before, facts.trial.profile, facts.trial.request.rule)
