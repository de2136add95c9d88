"""Explain why a memory is or is not in the prompt for a message, stage by stage, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from zeroclaw_tui.memory.recall import UNLIMITED, Stop
from zeroclaw_tui.memory.text import counted, cut, distinct_numbers, first_names, one_line
from zeroclaw_tui.scoring import injection
from zeroclaw_tui.scoring.evidence import DEFAULT_NAMESPACE, FILTERS, FilterName, WordShare
from zeroclaw_tui.scoring.explanation import Explanation, Step, StepName
from zeroclaw_tui.scoring.injection import (
    HALF_LIFE_DAYS,
    MAX_CHARACTERS,
    MAX_ENTRIES,
    MAX_ENTRY_CHARACTERS,
    THREATS,
    reranks,
)
from zeroclaw_tui.scoring.record import FAILS_WITHOUT_VECTOR, NoVector, Record, StageName, StagePlace
from zeroclaw_tui.scoring.stages import LIKE_FAILS, LIKE_WORDS, like_search, search_mode, session_scopes
from zeroclaw_tui.scoring.what_if import keyword_meaning, mixed_meanings

_ROUNDING = 1e-9
_NEARLY_NOTHING = 0.005
_MAX_NAME, _MAX_WORDS, _MAX_DECIMALS = 40, 8, 8
Help = tuple[str, str]
"""A short suggestion for a step, and the key of the inspector that carries it out."""
Stopping = tuple[str, Help]
"""The text of a step that stops the memory, and a suggestion."""
_NO_HELP: Help = ("", "")
_ADD_A_WORD: Help = ("edit it to contain a word of the message", "e")
_HIGHER_LIMIT: Help = ("a higher limit", "w")
_OTHER_MODE: Help = ("another search mode", "w")
_OTHER_VERSION: Help = ("another scoring version", "p")
_RE_EMBED: Help = ("re-embed it", "R")
_RENAME: Help = ("rename it", "e")
_EDIT: Help = ("edit it", "e")
_RECATEGORIZE: Help = ("another category", "e")
_NO_VECTORS: dict[NoVector, Stopping] = {
    "no query vector": ("the message has no vector", _NO_HELP),
    "mode": ("search mode bm25 ignores vectors", _OTHER_MODE),
    "no embedding": ("this memory has no vector", _RE_EMBED),
    "other length": ("its vector and the message's differ in length, because two models made them", _RE_EMBED),
    "not above 0": ("its cosine is not above 0", _NO_HELP),
    "out of scope": ("its vector is not compared: it is of another session or agent", _NO_HELP),
}
_SKIPPED: dict[str, Stopping] = {
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


def explain_record(record: Record, profile_source: str, notes: tuple[str, ...]) -> Explanation:
    """Describe the path of a memory in sentences."""
    steps = tuple(_steps(record))
    later_stops, remarks = tuple(_later_stops(record)), tuple(_remarks(record))
    return Explanation(record, profile_source, steps, _verdict(record, steps[-1]), later_stops, remarks, notes)


def _verdict(record: Record, last: Step) -> str:
    if record.program is not None:
        if record.stopped_at is not None:
            return f"{record.program} does not return it: {last.words}."
        return f"{record.program} returns it, {_ordinal(record.rank or 0)} of {record.injected}."
    it_is, it_is_not = "It is in the prompt", "It is not in the prompt"
    if record.is_of_store_alone:
        it_is, it_is_not = (f"By the store's own recall it would {be} in the prompt" for be in ("be", "not be"))
    if record.stopped_at is None:
        of = f"entry {record.place} of {record.injected}" if record.injected > 1 else "the only memory"
        return f"{it_is}, as {of}."
    if record.stopped_at == "threshold":
        score, threshold = _below_threshold(record)
        what = f"its score has faded to {score} with age," if record.has_decayed else f"its score of {score} is"
        return f"{it_is_not}: {what} below the threshold of {threshold}."
    return f"{it_is_not}: {last.words}."


def _steps(record: Record) -> Iterator[Step]:
    """List every stage it reaches, in order, up to the one that stops it."""
    for name in _stages(record):
        if name == record.stopped_at:
            yield _stopped(record, record.stopped_at)
            return
        step = _passed(record, name)
        if step is not None:
            yield step


def _stages(record: Record) -> tuple[StepName, ...]:
    """The stages of this recall."""
    if record.store.recall_fails:
        return ("words", "recall")
    if record.program is not None:
        return ("words", *FILTERS, "rank")
    to_prompt: tuple[StepName, ...] = ("scanner", "limit", "decay", "threshold", "skip", "cap", "prompt")
    if reranks(record.trial):
        to_prompt = ("scanner", "limit", "skip", "rerank", "threshold", "cap", "prompt")
    if record.has_own_rule:
        return ("words", *FILTERS, "rank", *to_prompt)
    if record.path == "recent":
        return ("query", *FILTERS, "recent", *to_prompt)
    if record.path == "like":
        # The results of the other stages were dropped; only rows of the fall-back pass.
        return ("words", "keyword", "vector", *FILTERS, "like", *to_prompt)
    is_out = record.out_of_stages is not None and record.out_of_stages == record.stopped_at
    out: tuple[StepName, ...] = (record.out_of_stages,) if is_out and record.out_of_stages else ()
    return ("words", "keyword", "vector", *out, "candidates", "fusion", "merge", *FILTERS, *to_prompt)


def _later_stops(record: Record) -> Iterator[Step]:
    """List everything else that would stop it, as far as that is known without the stages it does not reach."""
    stopped_at, candidate, score = record.stopped_at, record.candidate, record.compared_score
    if stopped_at is None:
        return
    yield from (_stopped(record, name) for name in record.excluded_by if name != stopped_at)
    if candidate is None or record.program is not None or record.store.recall_fails:
        return
    if candidate.withheld is not None and stopped_at != "scanner":
        yield _stopped(record, "scanner")
    if score is not None and score < record.trial.settings.threshold and stopped_at != "threshold":
        yield _stopped(record, "threshold")
    for stop in injection.skip_rules(candidate.entry, record.trial):
        if stopped_at != "skip" or stop != candidate.stop:
            yield _stopped(record, "skip", stop)


def _remarks(record: Record) -> Iterator[str]:
    """Describe the scores that such a hit can reach in this scoring."""
    profile, settings = record.trial.profile, record.trial.settings
    if record.store.recall_fails or reranks(record.trial):
        return
    if record.has_own_rule:
        if record.store.rule.threshold_meaning is not None:
            yield record.store.rule.threshold_meaning(profile, settings.threshold)
    elif record.path == "keyword":
        yield keyword_meaning(profile, settings.threshold)
    elif record.merged and search_mode(record.trial) == "hybrid":
        sentences = mixed_meanings(profile, settings)
        is_by_words = record.vector is None and record.keyword is not None and record.keyword.part is not None
        if is_by_words or sentences["keyword"] == sentences["vector"]:
            yield sentences["keyword"]
        elif record.keyword is None and record.vector is not None and record.vector.part is not None:
            yield sentences["vector"]


# Stages that the memory passes.


def _passed(record: Record, stage: StepName) -> Step | None:
    """Describe a stage that it passes; None if there is nothing to say."""
    score, threshold, rank = record.compared_score, record.trial.settings.threshold, record.rank
    words: str | None = None
    match stage:
        case "words":
            return _words(record)
        case "keyword":
            return _keyword(record)
        case "vector":
            return _vector(record)
        case "fusion" if record.fused_score is not None:
            words = f"{_fusion(record)}{_number(record.fused_score)}"
            words += f" · rank {record.fused_rank:,}" if record.merged else ""
        case "like":
            words = f"{_LIKE} {_ordinal(record.like_rank or 1)} of the newest that contain one, scores 1.00"
        case "recent":
            words = f"{_listing(record)}: {_ordinal(rank or 1)} of the newest, without a score"
        case "rank":
            words = _own_rank(record)
        case "limit" if rank is not None:
            words = f"rank {rank:,}, and {_recalled(record)}"
        case "rerank" if record.judged is not None:
            place = "" if record.judged.place is None else f" · {_ordinal(record.judged.place)} after rerank"
            words = f"{_blend(record)}{place}"
        case "decay":
            words = _decay(record)
        case "threshold":
            shown = " ≥ ".join(distinct_numbers(score or 0.0, threshold))
            words = "without a score it always passes" if score is None else shown
        case "prompt":
            words = f"entry {record.place} of {record.injected}{_cut_content(record)}"
    return None if words is None else Step(stage, "passed", words)


def _words(record: Record) -> Step:
    """Describe which words of the message it contains, and what each adds to its keyword score."""
    found = [share for share in record.shares if share.is_found]
    missing = [share.word for share in record.shares if not share.is_found]
    names = first_names(missing, most=_MAX_WORDS, longest=_MAX_NAME)
    if not record.shares:
        return Step("words", "absent", "the message has no words")
    if not found:
        return Step("words", "absent", f"contains no word of the message: {names}")
    total = sum(share.share for share in found if share.share is not None)
    matches = ", ".join(_match(share, total, record.store_rows) for share in found[:_MAX_WORDS])
    more = f" and {len(found) - _MAX_WORDS:,} more" if len(found) > _MAX_WORDS else ""
    return Step("words", "passed", f"matches {matches}{more}" + (f"; missing: {names}" if missing else ""))


def _match(share: WordShare, total: float, store_rows: int) -> str:
    word = f"“{_shown(share.word)}”"
    if share.share is None:
        return word
    return f"{word} (in {share.rows:,} of {counted(store_rows)}, {_number(share.share)} of {_number(total)})"


def _keyword(record: Record) -> Step:
    """Describe the keyword score, raw and as a share of the best, and the rank among the hits."""
    place, best = record.keyword, record.best_raw
    if place is None:
        words, helps = _no_keyword_hit(record)
        return Step("keyword", "absent", words, *helps)
    part = f" of {_number(best)} = {_number(place.part)}" if place.part is not None and best else ""
    return _hit("keyword", place, f"bm25 {_number(place.score)}{part}")


def _vector(record: Record) -> Step:
    """Describe the cosine and the rank among the hits, or the reason why there is none."""
    if record.vector is None:
        words, helps = _no_vector(record)
        return Step("vector", "absent", words, *helps)
    return _hit("vector", record.vector, f"cosine {_number(record.vector.score)}")


def _hit(stage: StepName, place: StagePlace, score: str) -> Step:
    words = f"{score} · rank {place.rank:,} of {place.hits:,}"
    if place.part is not None:
        return Step(stage, "passed", words)
    return Step(stage, "absent", f"{words}, and {_only_first(place.offered)}, so this score counts as missing")


def _no_keyword_hit(record: Record) -> Stopping:
    """Explain why it is not a keyword hit, and suggest a change."""
    trial = record.trial
    if record.out_of_stages is not None:
        return f"memories of another {record.out_of_stages} are not searched", _NO_HELP
    if search_mode(trial) == "embedding":
        return "search mode embedding ignores keywords", _OTHER_MODE
    if record.keyword_failed:
        helps = _NO_HELP if trial.profile.escapes_quotes else _OTHER_VERSION
        return "FTS5 cannot read this message, so no memory has a keyword match", helps
    although = ", although it contains some of the words" if any(share.is_found for share in record.shares) else ""
    return f"no keyword match{although}", _ADD_A_WORD


def _no_vector(record: Record) -> Stopping:
    why = record.no_vector or "no query vector"
    words, helps = _NO_VECTORS[why]
    if why == "no query vector" and record.store.why_no_vector:
        because, _, cure = record.store.why_no_vector.rstrip(".").partition("; ")
        return f"{words}: {because}", (cure, "")
    return words, helps


def _fusion(record: Record) -> str:
    """Format the computation of the fused score, without the result."""
    settings, profile = record.trial.settings, record.trial.profile
    keyword, vector = record.keyword, record.vector
    if record.merged:
        parts = (
            (settings.vector_weight, None if vector is None else vector.part),
            (settings.keyword_weight, None if keyword is None else keyword.part),
        )
        return f"{_weighed(parts, divides=profile.divides_by_weights_present)} = "
    if keyword is None:
        is_searched = search_mode(record.trial) != "embedding"
        why = "no memory has a keyword match" if is_searched else "search mode embedding ignores keywords"
        return f"{why}, so the cosine is the score: "
    if profile.normalises_keyword_only:
        shares = f"{_number(keyword.score)} / {_number(record.best_raw)} = "
        return f"only words match, so the score is bm25 divided by the best: {shares}"
    return "only words match, so bm25 is the score: "


def _weighed(parts: Sequence[tuple[float, float | None]], *, divides: bool) -> str:
    """Format the weighted sum; from 0.8.4 on divided by the weights of the existing parts."""
    present = [(weight, part) for weight, part in parts if part is not None or not divides]
    terms = " + ".join(f"{weight:g} × {_number(part)}" for weight, part in present)
    if not divides:
        return terms
    weights = " + ".join(f"{weight:g}" for weight, _ in present)
    return f"({terms}) / ({weights})" if len(present) > 1 else f"{terms} / {weights}"


_LIKE = "nothing else is left, so parts of words count:"


def _listing(record: Record) -> str:
    return f"{'a lone *' if record.trial.request.query.strip() else 'a blank message'} lists the newest"


def _own_rank(record: Record) -> str:
    """Describe rank and score by a backend's own rule."""
    score, scale = record.fused_score, _own_scale(record)
    rule = f"{_shown(record.store.name)}'s own rule" if record.program is None else f"the rule of {record.program}"
    place = f"rank {record.rank:,} by {rule}" if record.rank is not None else f"found by {rule}"
    if score is None:
        return f"{place} · no score ({scale})" if scale else f"{place} · no score"
    return f"{place} · {scale} = {_number(score)}" if scale else f"{place} · score {_number(score)}"


def _own_scale(record: Record) -> str:
    return "" if record.answer.scale in ("", "none", "its own") else _shown(record.answer.scale)


def _blend(record: Record) -> str:
    """Format the computation of the rerank stage."""
    blend = None if record.judged is None else injection.blend_score(record.judged, record.trial)
    if blend is None:
        return "without a score there is nothing to blend"
    named = {"": blend.relevance, "importance ": blend.importance, "recency ": blend.recency}
    terms = " + ".join(
        f"{name}{_number(part)} × {weight:g}" for (name, part), weight in zip(named.items(), blend.weights, strict=True)
    )
    total = sum(blend.weights)
    # If the weights do not add up to 1, the sum is divided by their total.
    terms = terms if abs(total - 1) < _ROUNDING else f"({terms}) / {total:g}"
    return f"{terms} = {_number(blend.score)}"


def _decay(record: Record) -> str | None:
    """Format the time decay; None if this version and rule do not decay."""
    judged, entry = record.judged, record.entry
    if judged is None or judged.score is None or judged.decayed is None:
        return None
    age = injection.age_in_days(entry.timestamp, record.trial.request.as_of)
    if entry.category == "core":
        return "core memories do not fade"
    if age is None:
        return "its time cannot be read, so it does not fade"
    faded = "0.00" if 0 <= judged.decayed < _NEARLY_NOTHING else _number(judged.decayed)
    return f"{_number(judged.score)} × 2^(-{age:,.1f} d / {HALF_LIFE_DAYS:g} d) = {faded}"


def _cut_content(record: Record) -> str:
    """Mention that only the beginning of a long content is injected, if the rule of the channels applies."""
    length, trial = len(record.entry.content), record.trial
    if length <= MAX_ENTRY_CHARACTERS or not injection.follows_channel_rule(trial.profile, trial.request.rule):
        return ""
    return f"; only its first {MAX_ENTRY_CHARACTERS:,} of {length:,} characters are injected"


# Stages that stop the memory.


def _stopped(record: Record, stage: StageName, skip: Stop | None = None) -> Step:
    """Describe a stage that stops it; `skip` is a skip rule other than the one that did."""
    match stage:
        case "query":
            words, helps = f"ZeroClaw {record.trial.profile.version} finds nothing for a blank message", _OTHER_VERSION
        case "recall":
            words, helps = FAILS_WITHOUT_VECTOR.removesuffix("."), _NO_HELP
        case "candidates":
            words, helps = _no_candidate(record)
        case "merge":
            place = f"ranked {_ordinal(record.fused_rank or 0)} after fusion with {_number(record.fused_score)}"
            words, helps = f"{place}, and {_only_first(record.store_limit)}", ("other weights, or a higher limit", "w")
        case "like":
            words, helps = _not_like(record)
        case "recent":
            words, helps = f"{_listing(record)}, and {_only_first(record.store_limit)}", _HIGHER_LIMIT
        case "rank":
            words, helps = _not_ranked(record)
        case "limit":
            place = f"ranked {_ordinal(record.rank)}" if record.rank is not None else "ranked behind what is recalled"
            words, helps = f"{place}, and only {_recalled(record)}", _HIGHER_LIMIT
        case "scanner":
            words, helps = _withheld(record)
        case "rerank":
            words, helps = f"{one_line(record.stop.rule)} · {_blend(record)}", ("other numbers for rerank", "w")
        case "threshold":
            words, helps = " < ".join(_below_threshold(record)), _help_below_threshold(record)
        case "skip":
            words, helps = _skipped(record, skip or record.stop)
        case "cap":
            words = f"{MAX_ENTRIES} memories rank before it, and ZeroClaw injects no more"
            if record.stop.rule == "characters":
                words = f"with the memories before it, it exceeds the {MAX_CHARACTERS:,} characters of the prompt block"
            helps = ("other weights that rank it higher", "w") if record.merged else _NO_HELP
        case _:
            words, helps = _filtered_out(record, stage)
    return Step(stage, "stopped", words, *helps)


def _no_candidate(record: Record) -> Stopping:
    """Describe its rank below the 2 x limit of each stage, or why no stage found it."""
    both = {"keyword": record.keyword, "vector": record.vector}
    places = {stage: place for stage, place in both.items() if place is not None}
    if not places:
        keyword, vector = _no_keyword_hit(record), _no_vector(record)
        _, helps = vector if vector[1][1] else keyword
        return f"{keyword[0]}, and {vector[0]}", helps
    ranks = " and ".join(f"{_ordinal(place.rank)} by {stage}" for stage, place in places.items())
    offered = next(iter(places.values())).offered
    return f"ranked {ranks}, and {_only_first(offered, ' of each' if len(places) > 1 else '')}", _HIGHER_LIMIT


def _not_like(record: Record) -> Stopping:
    rank, search = record.like_rank, like_search(record.trial.request.query, record.trial.profile)
    assert search is not None
    if search.fails:
        return LIKE_FAILS.removesuffix("."), _NO_HELP
    if rank is None or not search.accepts(record.entry.key, record.entry.content):
        return f"{_LIKE} it contains none of the message's first {LIKE_WORDS} words", _ADD_A_WORD
    place = f"{_ordinal(rank)} of the newest that contain part of the message"
    return f"{place}, and {_only_first(record.store_limit)}", _HIGHER_LIMIT


def _not_ranked(record: Record) -> Stopping:
    """Explain that a backend's own rule does not find it."""
    scale, rule = _own_scale(record), record.store.rule
    words = f"{_shown(record.program or record.store.name)}'s own rule does not find it"
    words += f" (it scores by {scale})" if scale else ""
    if record.program or record.path in ("vector", "recent") or not rule.finds_words:
        return words, _NO_HELP
    if rule.needed_text is None:
        return words, _ADD_A_WORD
    needed = rule.needed_text(record.trial.profile)
    return f"{words}, because it must contain {needed}", (f"edit it to contain {needed}", "e")


def _withheld(record: Record) -> Stopping:
    kind = (None if record.candidate is None else record.candidate.withheld) or record.entry.withheld or ""
    helps = ("edit it, or threat_scan in config.toml", "e")
    if kind not in THREATS:
        return f"withheld from the agent: {_shown(kind)}", _NO_HELP
    return f"withheld from the agent as {kind}: it looks like {THREATS[kind]}", helps


def _below_threshold(record: Record) -> tuple[str, str]:
    """Format the compared score and the threshold with enough decimals to show which is lower."""
    score = record.compared_score or 0.0
    shown, limit = distinct_numbers(score, record.trial.settings.threshold)
    return (_number(score) if shown == "0.00" and not record.has_decayed else shown), limit


def _help_below_threshold(record: Record) -> Help:
    candidate, threshold = record.candidate, record.trial.settings.threshold
    would_pass = candidate is not None and (candidate.score or 0.0) >= threshold
    if record.has_decayed and would_pass:
        return "the category core, which does not fade", "e"
    return ("a lower threshold, or other weights" if record.merged else "a lower threshold"), "w"


def _skipped(record: Record, stop: Stop) -> Stopping:
    words, helps = _SKIPPED.get(stop.rule, (_shown(stop.rule), _EDIT))
    if stop.rule == "conversation without a session" and record.entry.session_id is None:
        # Recalling in a session does not help: the session filter would exclude it, since it has none.
        helps = _RECATEGORIZE
    return words, helps


def _filtered_out(record: Record, name: FilterName) -> Stopping:
    """Describe the filter that excludes it."""
    request, entry = record.trial.request, record.entry
    match name:
        case "superseded":
            if not entry.superseded_by:
                return "it is marked as superseded, but nothing records by which memory", _NO_HELP
            return f"a newer memory replaced it: {_shown(entry.superseded_by)}", ("look at the newer one", "x")
        case "time":
            since = f" from {_shown(request.since)} on" if request.since else ""
            until = f" until {_shown(request.until)}" if request.until else ""
            words, recall_is = f"created {_shown(entry.timestamp)}", f"recall is{since}{until}"
            helps = "recall without the time bounds"
        case "session":
            words = f"it belongs to session {_shown(entry.session_id)}" if entry.session_id else "it has no session"
            sessions = first_names([*filter(None, session_scopes(request))], longest=_MAX_NAME)
            recall_is = f"the message comes from {sessions}"
            helps = "recall without the session"
        case "agent":
            words = f"it belongs to agent {_shown(entry.agent)}" if entry.agent else "it belongs to no agent"
            agents = first_names(request.agents or (), most=_MAX_WORDS, longest=_MAX_NAME)
            recall_is, helps = f"recall is for {agents}", "recall for its agent"
        case "namespace":
            words = f"it is in namespace {_shown(entry.namespace or DEFAULT_NAMESPACE)}"
            recall_is, helps = f"recall is in {_shown(request.namespace or '')}", "recall in its namespace"
    return f"{words}, and {recall_is}", (helps, "F")


# Numbers and names in the sentences.


def _number(value: float | None) -> str:
    """Format with two decimals, or more if needed to distinguish it from 0; None is a dash."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "no number" if math.isnan(value) else "-∞" if value < 0 else "∞"
    for decimals in range(2, _MAX_DECIMALS):
        shown = f"{value:,.{decimals}f}"
        if value == 0 or shown.strip("-0.,"):
            return shown
    return f"{value:.0e}"


def _recalled(record: Record) -> str:
    """ "the first 5 are recalled", "the first 20 of each session are recalled for rerank"."""
    limit, purpose = injection.pool_size(record.trial), " for rerank" if reranks(record.trial) else ""
    if limit >= UNLIMITED:
        return "everything found is recalled"
    of = " of each session" if len(session_scopes(record.trial.request)) > 1 else ""
    return f"the first{of} is recalled{purpose}" if limit == 1 else f"the first {limit:,}{of} are recalled{purpose}"


def _ordinal(place: int) -> str:
    """ "1st", "14th", "1,002nd"."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if place % 100 in (11, 12, 13) else endings.get(place % 10, "th")
    return f"{place:,}{ending}"


def _shown(text: str) -> str:
    """Clean and truncate an external name."""
    return cut(one_line(text), _MAX_NAME) or "(blank)"


def _only_first(count: int, of: str = "") -> str:
    """ "only the first passes", "only the first 10 of each pass"."""
    return f"only the first{of} passes" if count == 1 else f"only the first {count:,}{of} pass"
