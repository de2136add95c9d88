"""A recall decided again from its evidence: pure arithmetic, the store is not asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.agent_view import Find, Findings, asked_of_store, for_agent, seen_of
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence
from zeroclaw_tui.scoring.fusion import scored_entry
from zeroclaw_tui.scoring.injection import judge
from zeroclaw_tui.scoring.keywords import like_search, lists_recent, match_expression, words
from zeroclaw_tui.scoring.replaying import own, ways
from zeroclaw_tui.scoring.replaying.decision import Decision, decide
from zeroclaw_tui.scoring.settings import mode_in
from zeroclaw_tui.scoring.trial import NoVector, StageName, StagePlace, Trial, Way

__all__ = [
    "NoVector", "Replay", "StageName", "StagePlace", "Trial", "Way", "answer", "replay", "serves", "way_of",
]  # fmt: skip

Answer = tuple[tuple[ScoredEntry, ...], tuple[ScoredEntry, ...], str, str]


@dataclass(frozen=True, slots=True)
class Replay:
    """A recall as far as it can be decided without any content. `wanted` are the rows whose content decides the rest,
    best first; builders of results read nothing else. The remaining fields are for `answer` and `way_of`.

    `notes` are what a recall would say of the stages and of what it cannot serve.
    """

    trial: Trial
    evidence: Evidence
    wanted: tuple[Handle, ...]
    notes: tuple[str, ...] = ()
    decision: Decision | None = None


def replay(evidence: Evidence, trial: Trial) -> Replay:
    """Rank, cut, fuse and filter as the ZeroClaw of the trial's profile does. Costs what its limit costs, not more.

    Raises WrongUse when the trial needs other evidence (`serves`).
    """
    if not serves(evidence, trial):
        raise WrongUse("What the store found for this query does not answer another one.", hint="Ask the store again.")
    if isinstance(evidence, OwnEvidence):
        return Replay(trial, evidence, (), evidence.notes)
    asked = asked_of_store(trial.request, trial.profile)
    decision = decide(evidence, asked, trial.profile, trial.settings)
    return Replay(trial, evidence, decision.handles, (*decision.notes, *evidence.notes), decision)


def serves(evidence: Evidence, trial: Trial) -> bool:
    """Whether this evidence answers the trial: the same query, and FTS5 and LIKE asked the same."""
    if isinstance(evidence, OwnEvidence):
        return own.serves_own(evidence, trial)
    profile, query = trial.profile, trial.request.query
    if evidence.query != query:
        return False
    if lists_recent(query, profile) or not words(query):
        return True
    search = like_search(query, profile)
    patterns = () if evidence.like_facts is None else evidence.like_facts.patterns
    if evidence.expression != match_expression(query, profile) or (search and search.patterns != patterns):
        return False
    return evidence.vector_asked or mode_in(trial.settings, profile) == "bm25"


def answer(replayed: Replay, rows: Mapping[Handle, MemoryEntry]) -> Answer:
    """Results and withheld ones, judged for injection, with mode and scale: what `recall_memories` answers.

    `rows` are the wanted rows with their whole content; rows that have gone meanwhile are left out of it.
    """
    trial = replayed.trial
    request, profile, settings = trial.request, trial.profile, trial.settings
    kept, withheld = for_agent(
        _recalled(replayed, rows), request, profile, settings.threat_scan, _finder(replayed.evidence)
    )

    def judged(entries: tuple[ScoredEntry, ...]) -> tuple[ScoredEntry, ...]:
        as_of, session = request.as_of, request.session_id
        return judge(entries, profile, settings.threshold, request.rule, as_of, session_id=session)

    source = replayed.decision or replayed.evidence
    assert isinstance(source, Decision | OwnEvidence)
    return judged(kept), judged(withheld), source.mode, source.scale


def way_of(replayed: Replay, rows: Mapping[Handle, MemoryEntry], entry: MemoryEntry) -> Way:
    """The way of any memory of the store, recalled or not; `entry` is it with its whole content."""
    results, withheld, _, _ = answer(replayed, rows)
    if isinstance(replayed.evidence, OwnEvidence):
        return ways.own_way(replayed.evidence, replayed.trial, results, withheld, entry)
    assert replayed.decision is not None
    return ways.stage_way(replayed.evidence, replayed.decision, replayed.trial, results, withheld, entry)


def _recalled(replayed: Replay, rows: Mapping[Handle, MemoryEntry]) -> list[ScoredEntry]:
    """What the store returns, as far as the answer shows it."""
    decision, evidence, trial = replayed.decision, replayed.evidence, replayed.trial
    if isinstance(evidence, OwnEvidence):
        return own.recalled(evidence, asked_of_store(trial.request, trial.profile).limit)
    assert decision is not None
    there = [at for at, handle in enumerate(replayed.wanted) if handle in rows]
    entries = [rows[replayed.wanted[at]] for at in there]
    seen = seen_of(entries, trial.request, trial.profile, trial.settings.threat_scan, _finder(evidence))
    stage = decision.mode if decision.mode in ("like", "recent") else None
    return [scored_entry(decision.candidates[there[place]], entries[place], place + 1, stage) for place in seen]


def _finder(evidence: Evidence) -> Find:
    findings: Findings = evidence.derived.setdefault(Findings, Findings())
    return findings.find
