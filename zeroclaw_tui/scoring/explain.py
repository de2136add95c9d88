"""Why a memory is, or is not, in the prompt for a message: stage by stage, in words and numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import UNLIMITED, RecallResult, Stop
from zeroclaw_tui.memory.text import counted, cut, distinct_numbers, one_line
from zeroclaw_tui.scoring.evidence import DEFAULT_NAMESPACE, FILTERS, FilterName, WordShare, is_durable
from zeroclaw_tui.scoring.injection import (
    HALF_LIFE_DAYS,
    MOST_CHARACTERS,
    MOST_ENTRIES,
    MOST_ENTRY_CHARACTERS,
    age_in_days,
    blend_of,
    characters_used,
    follows_channel_rule,
    pool_size,
    skip_rules,
)
from zeroclaw_tui.scoring.keywords import LIKE_FAILS, LIKE_WORDS, like_search
from zeroclaw_tui.scoring.keywords import words as message_words
from zeroclaw_tui.scoring.placement import NoVector, Placement, StageName, StagePlace
from zeroclaw_tui.scoring.profiles import Trial, mode_in, parse_version
from zeroclaw_tui.scoring.scanner import THREATS
from zeroclaw_tui.scoring.what_if import POSTGRES_RANKS_SINCE, mixed_meanings, threshold_meaning, weights_meaning

Mark = Literal["passed", "stopped", "absent"]
"""✓, ✗ and –: passes, is stopped here, or has no part in it (which alone stops nothing)."""
StepName = Literal["words", "keyword", "vector", "fusion", "decay", "prompt"] | StageName

REFUSED_QUERY = "FTS5 refuses this query"
"""How the store's note begins where FTS5 could not read the message."""
_LONGEST_NAME = 40
_MOST_WORDS = 8
_MOST_MATCHES = 4
_MOST_DECIMALS = 8
_ROUNDING = 1e-9
_NEARLY_NOTHING = 0.005
Help = tuple[str, str]
"""What a person could do about a step, in a few words, and the key of the inspector that does it."""
_NO_HELP: Help = ("", "")
_RE_EMBED: Help = ("re-embed it", "R")
_ADD_A_WORD: Help = ("edit it to contain a word of the message", "e")
_HIGHER_LIMIT: Help = ("a higher limit", "w")
_NO_VECTORS: dict[NoVector, tuple[str, str, Help]] = {
    "no query vector": ("the message has no vector", "the message has no vector", _NO_HELP),
    "mode": (
        "search mode bm25 ignores vectors", "search mode bm25 ignores vectors", ("another search mode", "w"),
    ),
    "no embedding": ("this memory has no vector (stored while embeddings were off)", "it has no vector", _RE_EMBED),
    "other length": (
        "its vector has a different length than the message's, because another model made it",
        "its vector has a different length than the message's",
        _RE_EMBED,
    ),
    "not above 0": ("cosine not above 0, so it is no match", "", _NO_HELP),
    "out of scope": ("not compared: it is of another session or agent", "its vector is not compared", _NO_HELP),
}  # fmt: skip
"""By reason: what the vector stage says of it, the same as a clause where no stage finds the memory, and what helps."""
_RENAME, _EDIT, _RECATEGORIZE = ("rename it", "e"), ("edit it", "e"), ("another category", "e")
_SKIPPED: dict[str, tuple[str, Help]] = {
    "assistant reply": ("ZeroClaw skips its own replies (keys that begin with assistant_resp)", _RENAME),
    "user message": ("ZeroClaw skips saved messages (keys that begin with user_msg)", _RENAME),
    "history key": ("ZeroClaw skips histories (keys that end in _history)", _RENAME),
    "same key as one before": (
        "another memory with the same key ranks before it, and ZeroClaw uses only the first", _RENAME,
    ),
    "image": ("ZeroClaw skips content with [IMAGE:", _EDIT),
    "tool result": ("ZeroClaw skips content with <tool_result", _EDIT),
    "auto-save noise": ("ZeroClaw skips content that looks like its own records", _EDIT),
    "empty content": ("its content is blank", _EDIT),
    "conversation on a scheduled turn": ("cron and heartbeat do not get conversation memories", _RECATEGORIZE),
    "conversation without a session": (
        "it is a conversation memory, and the message has no session", ("recall in a session", "w"),
    ),
}  # fmt: skip
_EXACT_SESSIONS = ("postgres", "qdrant", "in-memory")
"""The backends whose recall in a session leaves out what has none, whatever the version."""
_ONE_NAMESPACE = ("markdown", "redis")
"""The backends whose memories all count as of the default namespace."""
_REPEATED_KINDS = {"assistant reply": "assistant reply", "user message": "saved user message"}


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

    def as_json(self) -> dict[str, Any]:
        """The step as the explain command prints it."""
        helps = {"helps": self.helps} if self.helps else {}
        return {"stage": self.name, "mark": self.mark, "words": self.words, **self.numbers, **helps}


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

    `verdict` is one sentence: its place in the prompt, or what stopped it. `later_stops` is everything else that would
    stop it as well. `remarks` are sentences on what holds for every memory in this scoring. `notes` say what went wrong
    on the way of the whole recall. `program` is the other program whose store it is: then `is_injected` and `place` are
    about what that program returns. `advice` is None where it is in, and where nothing that was tried helps.
    """

    entry: MemoryEntry
    trial: Trial
    profile_source: str
    steps: tuple[Step, ...]
    verdict: str
    stopped_at: StageName | None
    place: int | None
    injected: int
    later_stops: tuple[Step, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    program: str | None = None
    advice: Advice | None = None

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
    def query(self) -> str:
        """The message."""
        return self.trial.request.query

    @property
    def is_injected(self) -> bool:
        """Whether it reaches the prompt."""
        return self.stopped_at is None

    def as_json(self) -> dict[str, Any]:
        """The document the explain command prints."""
        request = self.trial.request
        return {
            "id": self.entry.id,
            "key": self.entry.key,
            "agent": self.entry.agent,
            "query": self.query,
            "profile": self.trial.profile.version,
            "profile_source": self.profile_source,
            "layer": request.layer,
            "rule": request.rule,
            "injected": self.is_injected if self.program is None else None,
            **({} if self.program is None else {"returned": self.is_injected}),
            "place": self.place,
            "of": self.injected,
            "stopped_at": self.stopped_at,
            "verdict": self.verdict,
            "steps": [step.as_json() for step in self.steps],
            "later_stops": [step.as_json() for step in self.later_stops],
            "advice": None if self.advice is None else self.advice.words,
            "remarks": list(self.remarks),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """All that an explanation is written from: the memory's way, the whole recall, and what is known of the store.

    `shares` are the message's words in the memory. `own_rule` names the backend where it ranks by a rule of its own,
    `program` the other program whose rule that is; `reasons` says what that rule does with this memory, in clauses: how
    it comes to return it, or everything that leaves it out. `store_rows` is how many memories there are,
    `why_no_vector` a few words on why the message has no vector.
    """

    placement: Placement
    trial: Trial
    result: RecallResult
    shares: Sequence[WordShare] = ()
    own_rule: str | None = None
    program: str | None = None
    reasons: tuple[str, ...] = ()
    store_rows: int | None = None
    why_no_vector: str = ""
    has_sessions: bool = False
    """Whether a store that ranks by a rule of its own has sessions."""

    @property
    def left_out_by(self) -> tuple[FilterName, ...]:
        """Every filter that leaves the memory out."""
        return self.placement.left_out_by if self.own_rule is None else tuple(_own_filters(self))

    @property
    def compared_score(self) -> float | None:
        """The number that is compared with the threshold, whether or not the memory comes so far."""
        candidate = self.placement.candidate
        return None if candidate is None else candidate.compared_score

    @property
    def has_faded(self) -> bool:
        """Whether its age alone keeps it below the threshold, or below half of what it was."""
        candidate = self.placement.candidate
        if candidate is None or candidate.score is None or candidate.decayed is None:
            return False
        return candidate.decayed < min(self.trial.settings.threshold, candidate.score / 2)


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
        remarks=(*_on_scores(facts), *_on_skipped_places(facts)),
        notes=facts.result.notes,
        program=facts.program,
    )


def _verdict(facts: Facts, last: Step) -> str:
    placement, program = facts.placement, facts.program
    is_stopped = placement.stopped_at is not None
    if program is not None:
        if is_stopped:
            return f"{program} does not return it: {last.words.removeprefix(f'{program} leaves it out: ')}."
        return f"{program} returns it, {_ordinal(placement.rank or 0)} of {len(facts.result.results)}."
    if not is_stopped:
        of = f"entry {placement.place} of {placement.injected}" if placement.injected > 1 else "the only memory"
        return f"It is in the prompt, as {of}."
    if placement.stopped_at == "threshold":
        score, threshold = _below_threshold(facts)
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


def _words(facts: Facts, stops: bool) -> Step:
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
        return Step("words", "absent", f"contains no word of the message: {_listed(map(_name, missing))}", numbers)
    total = sum(share.share for share in found if share.share is not None)
    shown = [_match(share, total, facts.store_rows, is_first=at == 0) for at, share in enumerate(found[:_MOST_MATCHES])]
    others = _listed(quoted(share.word) for share in found[_MOST_MATCHES:])
    rest = f" and {others}" if others else ""
    lacks = f"; missing: {_listed(map(_name, missing))}" if missing else ""
    return Step("words", "passed", f"matches {', '.join(shown)}{rest}{lacks}", numbers)


def _match(share: WordShare, total: float, store_rows: int | None, *, is_first: bool) -> str:
    facts = []
    if share.rows is not None:
        of = f" of {store_rows:,}" if store_rows is not None else ""
        what = f" {'memory' if (store_rows or share.rows) == 1 else 'memories'}" if is_first else ""
        facts.append(f"in {share.rows:,}{of}{what}")
    if share.share is not None:
        facts.append(f"{_number(share.share)} of {_number(total)}")
    return quoted(share.word) + (f" ({', '.join(facts)})" if facts else "")


def _keyword(facts: Facts, stops: bool) -> Step:
    """The word score, raw and as a share of the best, and the rank among the hits."""
    place, best, share = facts.placement.keyword, facts.placement.best_raw, facts.placement.keyword_score
    if place is None:
        words = "no keyword match"
        if facts.placement.out_of_stages is not None:
            words = f"memories of another {facts.placement.out_of_stages} are not searched"
        elif mode_in(facts.trial.settings, facts.trial.profile) == "embedding":
            words = "search mode embedding ignores keywords"
        elif _is_refused(facts):
            words = "FTS5 cannot read this message, so no memory has a keyword match"
        elif any(share.is_found for share in facts.shares):
            words = "no keyword match, although it contains some of the words"
        return Step("keyword", "absent", words, {}, *_help_without_words(facts))
    shown = f"bm25 {_number(place.score)}"
    if share is not None and best:
        shown += f" of {_number(best)} = {_number(share)}"
    numbers = {"bm25": place.score, "best_bm25": best, "score": share, **_place_numbers(place)}
    return Step("keyword", "passed", f"{shown} · {_rank(place)}", numbers)


def _is_refused(facts: Facts) -> bool:
    return any(REFUSED_QUERY in note for note in facts.result.notes)


def _help_without_words(facts: Facts) -> Help:
    """What would give it a hit by words."""
    if facts.placement.out_of_stages is not None:
        return _NO_HELP
    if mode_in(facts.trial.settings, facts.trial.profile) == "embedding":
        return "another search mode", "w"
    if _is_refused(facts):
        return _NO_HELP if facts.trial.profile.escapes_quotes else ("another scoring version", "p")
    return _ADD_A_WORD


def _vector(facts: Facts, stops: bool) -> Step:
    """The cosine and the rank among the hits, or why there is none."""
    place, why = facts.placement.vector, facts.placement.no_vector or "no query vector"
    if place is not None:
        numbers = {"cosine": place.score, **_place_numbers(place)}
        return Step("vector", "passed", f"cosine {_number(place.score)} · {_rank(place)}", numbers)
    words, _, helps = _NO_VECTORS[why]
    if why == "no query vector" and facts.why_no_vector:
        because, _, cure = facts.why_no_vector.partition("; ")
        words, helps = f"{words}: {because}", (cure, "")
    return Step("vector", "absent", words, {"why": why}, *helps)


def _rank(place: StagePlace) -> str:
    return f"rank {place.rank:,} of {place.hits:,}"


def _place_numbers(place: StagePlace) -> dict[str, int | bool]:
    return {"rank": place.rank, "hits": place.hits, "offered": place.offered, "goes_on": place.goes_on}


def _candidates(facts: Facts, stops: bool) -> Step | None:
    """Its place among the 2 x limit that goes on from each stage."""
    placement = facts.placement
    both = ((placement.keyword, "keyword"), (placement.vector, "vector"))
    places = [(place, stage) for place, stage in both if place is not None]
    if not places:
        return _stop_step("candidates", _found_by_nothing(facts), _to_be_found(facts)) if stops else None
    offered = places[0][0].offered
    ranks = {place.goes_on: "" for place, _ in places}
    for goes_on in ranks:
        of_these = [f"{_ordinal(place.rank)} by {stage}" for place, stage in places if place.goes_on == goes_on]
        ranks[goes_on] = " and ".join(of_these)
    if stops:
        each = " of each" if len(places) > 1 else ""
        words = f"ranked {ranks[False]}, and {_only_first(offered, each)}"
        return _stop_step("candidates", words, _HIGHER_LIMIT, offered=offered)
    asked = facts.placement.store_limit
    twice = f"the limit of {asked:,}" if asked == facts.trial.request.limit else f"the {asked:,} the store is asked for"
    words = f"{ranks[True]}; the first {offered:,} are candidates (2 × {twice})"
    if False in ranks:
        words += f"; {ranks[False]} ranks too low, so that score counts as missing"
    return Step("candidates", "passed", words, {"offered": offered})


def _found_by_nothing(facts: Facts) -> str:
    is_searched = mode_in(facts.trial.settings, facts.trial.profile) != "embedding"
    by_words = "its words do not match" if is_searched else "search mode embedding ignores keywords"
    by_vector = "" if facts.placement.no_vector is None else _NO_VECTORS[facts.placement.no_vector][1]
    if by_vector:
        return f"{by_words}, and {by_vector}"
    return "neither its words nor its vector match" if is_searched else f"its vector does not match, and {by_words}"


def _to_be_found(facts: Facts) -> Help:
    if facts.placement.no_vector in ("no embedding", "other length"):
        return _RE_EMBED
    return _help_without_words(facts)


def _fusion(facts: Facts, stops: bool) -> Step | None:
    """How the score is made of its parts."""
    placement, settings, profile = facts.placement, facts.trial.settings, facts.trial.profile
    if placement.fused_score is None:
        return None
    score = _number(placement.fused_score)
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
        words = f"words alone: {_number(placement.keyword.score)} of the best, {_number(placement.best_raw)}, = {score}"
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
    terms = " + ".join(f"{weight:g} × {_number(part)}" for weight, part in present)
    if not divides:
        return terms
    weights = " + ".join(f"{weight:g}" for weight, _ in present)
    return f"({terms}) / ({weights})" if len(present) > 1 else f"{terms} / {weights}"


def _merge(facts: Facts, stops: bool) -> Step | None:
    """The limit of the fused list, which is cut before anything is filtered."""
    rank, limit = facts.placement.fused_rank, facts.placement.merge_limit
    if not stops or rank is None or limit is None:
        return None
    score = _number(facts.placement.fused_score)
    words = f"ranked {_ordinal(rank)} after fusion with {score}, and {_only_first(limit)}"
    return _stop_step("merge", words, ("other weights, or a higher limit", "w"), rank=rank, limit=limit)


def _like(facts: Facts, stops: bool) -> Step:
    """The fall-back for parts of words."""
    placement, query = facts.placement, facts.trial.request.query
    rank, search = placement.like_rank, like_search(query, facts.trial.profile)
    lead, helps = "nothing else matches, so parts of words count:", _ADD_A_WORD
    if not stops:
        place = f"{_ordinal(rank)} of the newest that contain one" if rank is not None else "it contains one"
        return Step("like", "passed", f"{lead} {place}, scores 1.00", {"rank": rank, "score": 1.0})
    if search is not None and search.fails:
        words, helps = LIKE_FAILS.removesuffix("."), _NO_HELP
    elif rank is None:
        looked_for = f"first {LIKE_WORDS} words" if len(message_words(query)) > LIKE_WORDS else "words"
        words = f"{lead} it contains none of the message's {looked_for}"
    elif search is not None and not search.accepts(placement.entry.key, placement.entry.content):
        begins = _listed(_name(word[:-1]) for word in search.words if word.endswith("*"))
        words = f"{lead} none of its words begins with {begins}"
    else:
        newest = f"{_ordinal(rank)} of the newest that contain part of the message"
        words, helps = f"{newest}, and {_only_first(placement.store_limit)}", _HIGHER_LIMIT
    return _stop_step("like", words, helps, rank=rank)


def _filter(name: FilterName) -> Callable[[Facts, bool], Step | None]:
    def step(facts: Facts, stops: bool) -> Step | None:
        if stops:
            return _filter_stop(facts, name)
        words = "" if name in facts.left_out_by else _passed_filter(facts, name)
        return Step(name, "passed", words) if words else None

    return step


def _passed_filter(facts: Facts, name: FilterName) -> str:
    """How it passes a filter, in the words of what was asked; empty where nothing was."""
    request, entry, profile = facts.trial.request, facts.placement.entry, facts.trial.profile
    is_staged = facts.own_rule is None
    if name == "superseded" and is_staged and profile.hides_superseded:
        return "no newer memory replaced it"
    if name == "time" and (request.since or request.until) and profile.has_time_bounds:
        return f"created {_name(entry.timestamp)}, within the bounds"
    if name == "session" and request.session_id is not None:
        if entry.session_id is None:
            return f"{_name(entry.category)} memories without a session are visible in every session"
        return f"in session {_name(entry.session_id)}, like the message"
    if name == "agent" and request.agents and not (is_staged and profile.agent_scope == "none"):
        return f"of agent {_name(entry.agent or '(none)')}, which is allowed"
    if name == "namespace" and request.namespace is not None:
        return f"in namespace {_name(request.namespace)}"
    return ""


def _filter_stop(facts: Facts, name: FilterName) -> Step:
    """The filter that keeps it out."""
    request, entry = facts.trial.request, facts.placement.entry
    match name:
        case "superseded":
            if not entry.superseded_by:
                return _stop_step(name, "it is marked as superseded, but nothing records by which memory")
            words, helps = f"a newer memory replaced it: {_name(entry.superseded_by)}", ("look at the newer one", "x")
        case "time":
            since = f" from {_name(request.since)} on" if request.since else ""
            until = f" until {_name(request.until)}" if request.until else ""
            words = f"created {_name(entry.timestamp)}, and recall is{since}{until}"
            helps = ("recall without the time bounds", "F")
        case "session":
            owner = f"it belongs to session {_name(entry.session_id)}" if entry.session_id else "it has no session"
            words = f"{owner}, and the message comes from {_name(request.session_id or '')}"
            helps = ("recall without the session", "F")
        case "agent":
            owner = f"it belongs to agent {_name(entry.agent)}" if entry.agent else "it belongs to no agent"
            words = f"{owner}, and recall is for {_listed(map(_name, request.agents or ()))}"
            helps = ("recall for its agent", "F")
        case "namespace":
            words = f"it is in namespace {_name(entry.namespace or DEFAULT_NAMESPACE)}"
            words += f", and recall is in {_name(request.namespace or '')}"
            helps = ("recall in its namespace", "F")
    return _stop_step(name, words, helps)


def _own_filters(facts: Facts) -> Iterator[FilterName]:
    """The filters that leave it out by a backend's own rule: what such a store does not record leaves nothing out."""
    request, entry, profile, rule = facts.trial.request, facts.placement.entry, facts.trial.profile, facts.own_rule
    at, since, until = moment(entry.timestamp), moment(request.since), moment(request.until)
    is_outside = at is not None and ((since is not None and at < since) or (until is not None and at > until))
    if is_outside and rule != "markdown" and profile.has_time_bounds:
        yield "time"
    has_sessions = entry.session_id is not None or facts.has_sessions
    is_of_session = None in request.scopes or entry.session_id in request.scopes
    crosses = profile.durable_rows_cross_sessions and rule not in _EXACT_SESSIONS and is_durable(entry)
    if has_sessions and not is_of_session and not crosses:
        yield "session"
    if entry.agent is not None and request.agents and entry.agent not in request.agents:
        yield "agent"
    has_namespaces = entry.namespace is not None or rule in _ONE_NAMESPACE
    if has_namespaces and request.namespace not in (None, entry.namespace or DEFAULT_NAMESPACE):
        yield "namespace"


def _own(facts: Facts, stops: bool) -> Step:
    """The rank and score that a backend's own rule gives."""
    if stops:
        return _own_stops(facts)[0]
    placement, judged = facts.placement, facts.placement.judged
    rank = placement.rank if judged is None else judged.rank
    score = placement.fused_score if judged is None else judged.score
    rule = f"{_own_name(facts)}'s own rule" if facts.program is None else f"the rule of {facts.program}"
    place = f"rank {rank:,} by {rule}" if rank is not None else f"found by {rule}"
    words = " · ".join((place, _own_score(facts, score), *facts.reasons))
    return Step("rank", "passed", words, {"rank": rank, "score": score, "scale": facts.result.scale})


def _own_name(facts: Facts) -> str:
    return _name(facts.program or facts.own_rule or "")


def _own_scale(facts: Facts) -> str:
    return "" if facts.result.scale in ("", "none", "its own") else _name(facts.result.scale)


def _own_score(facts: Facts, score: float | None) -> str:
    scale = _own_scale(facts)
    if score is None:
        return f"no score ({scale})" if scale else "no score"
    if facts.own_rule == "markdown" and facts.shares:
        found = sum(share.is_found for share in facts.shares)
        if abs(found / len(facts.shares) - score) < _ROUNDING:
            return f"{found} of {len(facts.shares)} words = {_number(score)}"
    return f"{scale} = {_number(score)}" if scale else f"score {_number(score)}"


def _own_stops(facts: Facts) -> list[Step]:
    """Everything that is known to leave it out of the answer of a backend's own rule, the first of it first."""
    rule, scale = _own_name(facts), {"scale": facts.result.scale}
    stops = [Step("rank", "stopped", reason, scale) for reason in facts.reasons]
    stops = stops or [_filter_stop(facts, name) for name in facts.left_out_by]
    if stops:
        return [replace(stop, name="rank", words=f"{rule} leaves it out: {stop.words}") for stop in stops]
    by = f" (it scores by {_own_scale(facts)})" if _own_scale(facts) else ""
    wants, helps = "", _ADD_A_WORD
    if facts.own_rule == "qdrant" or facts.placement.path == "vector" or facts.result.scale == "none":
        helps = _NO_HELP
    elif facts.own_rule == "postgres":
        has_ranks = parse_version(facts.trial.profile.version) >= POSTGRES_RANKS_SINCE
        asked = "every word of the message" if has_ranks else "the exact message"
        wants, helps = f", because it must contain {asked}", (f"edit it to contain {asked}", "e")
    return [_stop_step("rank", f"{rule}'s own rule does not find it{by}{wants}", helps, **scale)]


def _recent(facts: Facts, stops: bool) -> Step:
    """Its place among the newest, which a blank message lists."""
    listing = "a lone *" if facts.trial.request.query.strip() else "a blank message"
    if stops:
        words = f"{listing} lists the newest, and {_only_first(facts.placement.store_limit)}"
        return _stop_step("recent", words, _HIGHER_LIMIT)
    rank = facts.placement.rank
    place = f"{_ordinal(rank)} of the newest" if rank is not None else "among the newest"
    return Step("recent", "passed", f"{listing} lists the newest: {place}, without a score", {"rank": rank})


def _query(facts: Facts, stops: bool) -> Step | None:
    words = f"ZeroClaw {facts.trial.profile.version} finds nothing for a blank message"
    return _stop_step("query", words, ("another scoring version", "p")) if stops else None


def _limit(facts: Facts, stops: bool) -> Step | None:
    """Its rank among what is recalled."""
    rank, limit = facts.placement.rank, pool_size(facts.trial)
    for_rerank = " for rerank" if facts.trial.reranks else ""
    if stops:
        place = f"ranked {_ordinal(rank)}" if rank is not None else "ranked behind what is recalled"
        first = "first is" if limit == 1 else f"first {limit:,} are"
        words = f"{place}, and only the {first} recalled{for_rerank}"
        return _stop_step("limit", words, _HIGHER_LIMIT, rank=rank, limit=limit)
    if rank is None:
        return None
    what = f"the first {limit:,} are recalled" if limit < UNLIMITED else "everything found is recalled"
    return Step("limit", "passed", f"rank {rank:,}, and {what}{for_rerank}", {"rank": rank, "limit": limit})


def _rerank(facts: Facts, stops: bool) -> Step | None:
    """What the rerank stage makes of its score, and the place it gives it."""
    judged = facts.placement.judged
    if judged is None:
        return None
    blend = blend_of(judged, facts.trial)
    blended = "without a score there is nothing to blend"
    numbers: dict[str, Any] = {"score": None, "place": judged.place}
    if blend is not None:
        parts = (("", blend.relevance), ("importance ", blend.importance), ("recency ", blend.recency))
        terms = " + ".join(
            f"{what}{_number(part)} × {weight:g}" for (what, part), weight in zip(parts, blend.weights, strict=True)
        )
        total = sum(blend.weights)
        # Weights that do not add up to 1 are divided by their sum.
        terms = terms if abs(total - 1) < _ROUNDING else f"({terms}) / {total:g}"
        blended = f"{terms} = {_number(blend.score)}"
        numbers = {
            "score": blend.relevance,
            "importance": blend.importance,
            "recency": blend.recency,
            "weights": list(blend.weights),
            "reranked": blend.score,
            "place": judged.place,
        }
    if stops:
        words = f"{one_line(_stop_of(facts).rule)} · {blended}"
        return _stop_step("rerank", words, ("other numbers for rerank", "w"), **numbers)
    place = f" · {_ordinal(judged.place)} after rerank" if judged.place is not None else ""
    return Step("rerank", "passed", f"{blended}{place}", numbers)


def _stop_of(facts: Facts) -> Stop:
    """What the injection rules decided on a memory that they stop."""
    judged = facts.placement.judged
    assert judged is not None
    assert judged.stop is not None
    return judged.stop


def _scanner(facts: Facts, stops: bool) -> Step | None:
    """What the content scanner sees in it, where one is between store and agent."""
    candidate, trial = facts.placement.candidate, facts.trial
    if stops:
        kind = (candidate.withheld if candidate is not None else None) or facts.placement.entry.withheld or ""
        if kind not in THREATS:
            return _stop_step("scanner", f"withheld from the agent: {_name(kind)}", kind=kind)
        words = f"withheld from the agent as {kind}: it looks like {THREATS[kind]}"
        return _stop_step("scanner", words, ("edit it, or threat_scan in config.toml", "e"), kind=kind)
    is_scanned = trial.profile.scans_content and trial.request.layer == "agent"
    if not is_scanned or facts.placement.judged is None:
        return None
    is_off = trial.settings.threat_scan == "off"
    return Step("scanner", "passed", "switched off" if is_off else "nothing in it looks like an attack")


def _decay(facts: Facts, stops: bool) -> Step | None:
    """The score after time, where this version and rule decay."""
    judged, entry = facts.placement.judged, facts.placement.entry
    if judged is None or judged.score is None or judged.decayed is None:
        return None
    age = age_in_days(entry.timestamp, facts.trial.request.as_of)
    if entry.category == "core":
        words = "core memories do not fade"
    elif age is None:
        words = "its time cannot be read, so it does not fade"
    else:
        faded = "0.00" if 0 <= judged.decayed < _NEARLY_NOTHING else _number(judged.decayed)
        words = f"{_number(judged.score)} × 2^(-{age:,.1f} d / {HALF_LIFE_DAYS:g} d) = {faded}"
    return Step("decay", "passed", words, {"score": judged.score, "age_days": age, "decayed": judged.decayed})


def _threshold(facts: Facts, stops: bool) -> Step:
    """The number that is compared with the threshold."""
    score, threshold = facts.compared_score, facts.trial.settings.threshold
    numbers = {"score": score, "threshold": threshold}
    if not stops:
        shown = distinct_numbers(score or 0.0, threshold)
        words = "without a score it always passes" if score is None else f"{shown[0]} ≥ {shown[1]}"
        return Step("threshold", "passed", words, numbers)
    candidate = facts.placement.candidate
    would_pass = candidate is not None and (candidate.score or 0.0) >= threshold
    is_weighed = facts.own_rule is None and facts.placement.merged
    helps = ("a lower threshold, or other weights" if is_weighed else "a lower threshold", "w")
    if facts.has_faded and would_pass:
        helps = ("the category core, which does not fade", "e")
    return _stop_step("threshold", " < ".join(_below_threshold(facts)), helps, **numbers)


def _below_threshold(facts: Facts) -> tuple[str, str]:
    """The compared score and the threshold, with decimals that show which is smaller."""
    score = facts.compared_score or 0.0
    shown, limit = distinct_numbers(score, facts.trial.settings.threshold)
    return (_number(score) if shown == "0.00" and not facts.has_faded else shown), limit


def _skip(facts: Facts, stops: bool) -> Step | None:
    if stops:
        return _skip_stop(facts, _stop_of(facts))
    # The caps are looked at before these rules.
    return None if facts.placement.stopped_at == "cap" else Step("skip", "passed", "no skip rule applies")


def _skip_stop(facts: Facts, stop: Stop) -> Step:
    words, helps = _SKIPPED.get(stop.rule, (_name(stop.rule), _EDIT))
    if stop.rule == "conversation without a session" and facts.placement.entry.session_id is None:
        # A session's recall would leave it out in turn, since it has none.
        helps = _RECATEGORIZE
    return _stop_step("skip", words, helps, rule=stop.rule)


def _cap(facts: Facts, stops: bool) -> Step | None:
    """How much of the prompt is used with it."""
    request, profile, place = facts.trial.request, facts.trial.profile, facts.placement.place
    if stops:
        words = f"{MOST_ENTRIES} memories rank before it, and ZeroClaw injects no more"
        if _stop_of(facts).rule == "characters":
            words = f"it does not fit in the {MOST_CHARACTERS:,} characters that ZeroClaw puts before a message"
        is_weighed = facts.own_rule is None and facts.placement.merged
        helps = ("other weights that rank it higher", "w") if is_weighed else _NO_HELP
        return _stop_step("cap", words, helps, most_entries=MOST_ENTRIES)
    if place is None or not follows_channel_rule(profile, request.rule):
        return None
    before = [scored for scored in facts.result.results if scored.injected][:place]
    used = characters_used(before, profile, request.rule)
    words = f"entry {place} of at most {MOST_ENTRIES}, {used:,} of {MOST_CHARACTERS:,} characters used"
    length = len(facts.placement.entry.content)
    if length > MOST_ENTRY_CHARACTERS:
        words += f"; only its first {MOST_ENTRY_CHARACTERS:,} of {length:,} characters are injected"
    numbers = {"entry": place, "most_entries": MOST_ENTRIES, "characters": used, "most_characters": MOST_CHARACTERS}
    return Step("cap", "passed", words, numbers)


def _prompt(facts: Facts, stops: bool) -> Step:
    place, of = facts.placement.place, facts.placement.injected
    return Step("prompt", "passed", f"entry {place} of {of}", {"place": place, "of": of})


_STAGES: dict[StepName, Callable[[Facts, bool], Step | None]] = {
    "words": _words,
    "keyword": _keyword,
    "vector": _vector,
    "query": _query,
    "candidates": _candidates,
    "fusion": _fusion,
    "merge": _merge,
    **{name: _filter(name) for name in FILTERS},
    "like": _like,
    "recent": _recent,
    "rank": _own,
    "limit": _limit,
    "scanner": _scanner,
    "rerank": _rerank,
    "decay": _decay,
    "threshold": _threshold,
    "skip": _skip,
    "cap": _cap,
    "prompt": _prompt,
}
"""What makes the step of a stage: of one that the memory passes, or of the one that stops it. None is no step."""


def _later_stops(facts: Facts, stopped_at: StageName) -> Iterator[Step]:
    """Everything else that would stop it, as far as that is known without the stage that stops it."""
    if stopped_at == "rank":
        yield from _own_stops(facts)[1:]
    elif facts.own_rule is None:
        yield from (_filter_stop(facts, name) for name in facts.left_out_by if name != stopped_at)
    candidate, score = facts.placement.candidate, facts.compared_score
    if candidate is None or facts.program is not None:
        return
    if candidate.withheld is not None and stopped_at != "scanner":
        yield from filter(None, [_scanner(facts, stops=True)])
    if score is not None and score < facts.trial.settings.threshold and stopped_at != "threshold":
        yield _threshold(facts, stops=True)
    for stop in skip_rules(candidate.entry, facts.trial):
        if stopped_at != "skip" or stop != candidate.stop:
            yield _skip_stop(facts, stop)


def _on_scores(facts: Facts) -> Iterator[str]:
    """What a hit like this one can reach in this scoring."""
    placement, profile, settings = facts.placement, facts.trial.profile, facts.trial.settings
    if facts.own_rule is not None:
        if facts.own_rule in ("markdown", "postgres", "qdrant"):
            yield threshold_meaning(facts.own_rule, profile, settings.threshold)
    elif placement.path == "keyword":
        yield weights_meaning(profile, settings, has_vectors=False)[0]
    elif placement.merged and mode_in(settings, profile) == "hybrid":
        sentences = mixed_meanings(profile, settings)
        is_by_words = placement.vector is None and placement.keyword_score is not None
        if is_by_words or sentences["keyword"] == sentences["vector"]:
            yield sentences["keyword"]
        elif placement.keyword is None and placement.vector is not None and placement.vector.goes_on:
            yield sentences["vector"]


def _on_skipped_places(facts: Facts) -> Iterator[str]:
    """Rows among the first that the injection rule leaves out anyway, where a memory lost its place to them."""
    # Before the rerank stage such rows go first, and cost nobody a place.
    if facts.placement.stopped_at not in ("candidates", "merge", "rank", "recent", "limit") or facts.trial.reranks:
        return
    results = facts.result.results
    rules = Counter(scored.stop.rule for scored in results if scored.stop is not None)
    taken = {kind: rules[rule] for rule, kind in _REPEATED_KINDS.items() if rules[rule]}
    if taken:
        what = " and ".join(counted(count, kind) for kind, count in taken.items())
        verb, total = "takes" if sum(taken.values()) == 1 else "take", sum(taken.values())
        places = f"{counted(total, 'place')} of the {len(results)} recalled"
        yield f"{what} {verb} {places}, and ZeroClaw drops them only afterwards."


def _stop_step(name: StageName, words: str, helps: Help = _NO_HELP, **numbers: Any) -> Step:
    return Step(name, "stopped", words, numbers, *helps)


def _number(value: float | None) -> str:
    """Two decimals, or as many more as it takes to see that it is not 0; what does not exist is a dash."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "no number" if math.isnan(value) else "-∞" if value < 0 else "∞"
    for decimals in range(2, _MOST_DECIMALS):
        shown = f"{value:,.{decimals}f}"
        if value == 0 or shown.strip("-0.,"):
            return shown
    return f"{value:.0e}"


def _ordinal(place: int) -> str:
    """ "1st", "14th", "1,002nd"."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if place % 100 in (11, 12, 13) else endings.get(place % 10, "th")
    return f"{place:,}{ending}"


def _name(text: str) -> str:
    """A name somebody else chose, cleaned and not too long."""
    return cut(one_line(text), _LONGEST_NAME) or "(blank)"


def quoted(text: str) -> str:
    """A name somebody else chose, within a sentence."""
    return f"“{_name(text)}”"


def _listed(cleaned: Iterable[str]) -> str:
    """Cleaned names with commas, the first few of them."""
    names = list(cleaned)
    shown = ", ".join(names[:_MOST_WORDS])
    return f"{shown} and {len(names) - _MOST_WORDS:,} more" if len(names) > _MOST_WORDS else shown


def _only_first(count: int, of: str = "") -> str:
    """ "only the first passes", "only the first 10 of each pass"."""
    return f"only the first{of} passes" if count == 1 else f"only the first {count:,}{of} pass"
