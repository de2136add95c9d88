"""How good recalls are: rankings measured by the keys expected, and whether what is wanted reaches the prompt."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.decide import Decision, Findings, answer, decide, passes_scanner, recalled
from zeroclaw_tui.scoring.evidence import Evidence
from zeroclaw_tui.scoring.injection import (
    MOST_CHARACTERS,
    MOST_ENTRIES,
    NearTexts,
    age_in_days,
    blend_weights,
    compared_text,
    fading,
    final_limit,
    follows_channel_rule,
    likeness_table,
    pairs_of,
    pool_size,
    prompt_line,
    repeated_keys,
    skipped_because,
    words_of,
)
from zeroclaw_tui.scoring.profiles import RerankSettings, Trial, mode_in

if TYPE_CHECKING:
    import numpy as np


def is_hit(ranked: Sequence[str], expected: Collection[str], k: int) -> bool:
    """Whether one of the first k is expected."""
    return not set(expected).isdisjoint(ranked[: max(k, 0)])


def reciprocal_rank(ranked: Sequence[str], expected: Collection[str], k: int) -> float:
    """1 / the rank of the first expected one among the first k, 0 when there is none (Voorhees, TREC-8, 1999)."""
    wanted = set(expected)
    return next((1 / rank for rank, key in enumerate(ranked[: max(k, 0)], 1) if key in wanted), 0.0)


def ndcg(ranked: Sequence[str], expected: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first k with gains of 0 and 1 and the discount log2(rank + 1), 0..1
    (Jaervelin and Kekaelaeinen, ACM TOIS 20(4), 2002). A key that comes twice gains once; 0 where nothing is expected.
    """
    missing = set(expected)
    best = math.fsum(_gain(rank) for rank in range(1, min(len(missing), k) + 1))
    gains = []
    for rank, key in enumerate(ranked[: max(k, 0)], 1):
        if key in missing:
            missing.discard(key)
            gains.append(_gain(rank))
    return math.fsum(gains) / best if best else 0.0


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What each setting puts before the message, shapes (settings,): whether all wanted keys and any unwanted one are
    among it, bool, and how many memories it is, int64. `measured` is False where the evidence does not serve it."""

    found: np.ndarray
    unwanted: np.ndarray
    injected: np.ndarray
    measured: np.ndarray


@dataclass(frozen=True, slots=True)
class _Group:
    """Settings that recall the same rows with the same scores: their places, and those among them that put them in
    the same order (`orders`: which order each place has, `knobs`: the rerank settings of each order)."""

    first: Trial
    places: tuple[int, ...]
    thresholds: tuple[float, ...]
    orders: tuple[int, ...]
    knobs: tuple[RerankSettings, ...]


class Settings:
    """The settings of a sweep, sorted by what they recall. The query of their requests does not matter."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = tuple(trials)
        together: dict[object, list[int]] = {}
        for place, trial in enumerate(self.trials):
            together.setdefault(_recall_key(trial), []).append(place)
        self.groups = tuple(self._group(places) for places in together.values())

    def __len__(self) -> int:
        return len(self.trials)

    def _group(self, places: Sequence[int]) -> _Group:
        trials = [self.trials[place] for place in places]
        knobs: dict[RerankSettings, int] = {}
        orders = [
            knobs.setdefault(trial.settings.rerank if trial.reranks else RerankSettings(), len(knobs))
            for trial in trials
        ]
        thresholds = tuple(trial.settings.threshold for trial in trials)
        return _Group(trials[0], tuple(places), thresholds, tuple(orders), tuple(knobs))


@dataclass(slots=True)
class KnownTexts:
    """What scanner and rerank stage see in the memories met so far, each looked at once in a sweep of many queries."""

    alike: dict[Handle, set[Handle]] = field(default_factory=dict)
    """The memories that collapse with each, for being the same or nearly the same."""
    same: dict[Handle, set[Handle]] = field(default_factory=dict)
    """Those of them that say the same."""
    words: dict[Handle, list[str]] = field(default_factory=dict)
    findings: Findings = field(default_factory=Findings)
    _texts: dict[str, list[Handle]] = field(default_factory=dict)
    _near: NearTexts[Handle] = field(default_factory=NearTexts)

    def add(self, entry: MemoryEntry) -> None:
        """Compare a memory with those known."""
        handle = entry.handle
        if handle in self.words:
            return
        self.words[handle] = words_of(entry.content)
        text = compared_text(entry.content)
        pairs = pairs_of(text)
        same = self._texts.setdefault(text, [])
        self.same[handle], self.alike[handle] = set(same), {*same, *(other for other, _ in self._near.near(pairs))}
        for other in same:
            self.same[other].add(handle)
        for other in self.alike[handle]:
            self.alike[other].add(handle)
        same.append(handle)
        self._near.add(handle, pairs)


class Sweep:
    """One query under all settings. `wanted` are the rows to read, after which `outcomes` can be told.

    `request` is the query's, of one session scope; a setting has its limit, unless it tries another than its turn's.
    """

    def __init__(self, evidence: Sequence[Evidence], settings: Settings, request: RecallRequest) -> None:
        self._evidence = tuple(evidence)
        self._settings = settings
        self._request = request
        self._decisions: list[tuple[_Group, Decision]] = []
        wanted: dict[Handle, None] = {}
        for group in settings.groups:
            with suppress(UsageError):
                decision = decide(self._evidence, self.trial(group.first))
                self._decisions.append((group, decision))
                wanted |= dict.fromkeys(decision.wanted)
        self.wanted = tuple(wanted)

    def trial(self, template: Trial) -> Trial:
        """A setting asked with this query."""
        limit, turn_limit = template.request.limit, template.request.turn_limit
        return template._replace(request=self._request if limit == turn_limit else replace(self._request, limit=limit))

    def outcomes(
        self,
        rows: Mapping[Handle, MemoryEntry],
        wanted: Collection[str],
        unwanted: Collection[str],
        texts: KnownTexts | None = None,
    ) -> Outcomes:
        """What each setting puts before the message; `rows` are those wanted, rows gone meanwhile are left out."""
        import numpy as np

        count = len(self._settings)
        found = Outcomes(np.zeros(count, bool), np.zeros(count, bool), np.zeros(count, np.int64), np.zeros(count, bool))
        judged = _Judged(rows, wanted, unwanted, KnownTexts() if texts is None else texts)
        for group, decision in self._decisions:
            at = list(group.places)
            found.measured[at] = True
            kept, scores = judged.recalled(decision)
            if np.isfinite(scores).all():
                part = judged.together(group, decision.trial, kept, scores)
                found.found[at], found.unwanted[at], found.injected[at] = part
            else:
                for place in at:
                    one = judged.alone(decision, self.trial(self._settings.trials[place]))
                    found.found[place], found.unwanted[place], found.injected[place] = one
        return found


class _Judged:
    """The rows of one query, and what of them is the same for every setting, each fact an array over the rows."""

    def __init__(
        self,
        rows: Mapping[Handle, MemoryEntry],
        wanted: Collection[str],
        unwanted: Collection[str],
        texts: KnownTexts,
    ) -> None:
        import numpy as np

        self._rows = rows
        self._entries = tuple(rows.values())
        self._places = {handle: place for place, handle in enumerate(rows)}
        self._wanted, self._unwanted = frozenset(wanted), frozenset(unwanted)
        keys = [entry.key for entry in self._entries]
        self._is_wanted = [np.array([key == one for key in keys], dtype=bool) for one in self._wanted]
        self._is_unwanted = np.array([key in self._unwanted for key in keys], dtype=bool)
        self._importance = np.array([min(max(entry.importance or 0.0, 0.0), 1.0) for entry in self._entries])
        self._lengths = np.array([len(prompt_line(entry, True)) for entry in self._entries])
        self._texts = texts
        self._facts: dict[object, np.ndarray] = {}
        self._likeness: tuple[np.ndarray, np.ndarray] | None = None

    def alone(self, decision: Decision, trial: Trial) -> tuple[bool, bool, int]:
        """One setting, result by result: for scores that are none, or no numbers."""
        results = answer(decide(decision.evidence, trial), self._rows).results
        keys = {scored.entry.key for scored in results if scored.injected}
        injected = sum(scored.injected for scored in results)
        return self._wanted <= keys, not self._unwanted.isdisjoint(keys), injected

    def recalled(self, decision: Decision) -> tuple[np.ndarray, np.ndarray]:
        """The places of what the agent gets, int64, with their scores, float64, NaN for none: as `decide.recalled`,
        without the results."""
        import numpy as np

        evidence, ranking, trial = decision.evidence[0], decision.rankings[0], decision.trial
        handles: Sequence[Handle]
        scores: Sequence[float | None]
        if ranking is None:
            results, _ = recalled(evidence, ranking, trial, self._rows)
            handles, scores = [each.entry.handle for each in results], [each.score for each in results]
        else:
            handles, scores = ranking.handles, ranking.scores
        places = np.array([self._places.get(handle, -1) for handle in handles], dtype=np.int64)
        is_there = places >= 0
        if ranking is not None and passes_scanner(trial):
            mode, find = trial.settings.threat_scan, self._texts.findings.find
            flagged = self._facts_of(mode, places[is_there], lambda entry: find(entry.content, mode) is not None)
            is_there &= flagged[places] == 0
            is_there &= np.cumsum(is_there) <= pool_size(trial)
        return places[is_there], np.array(scores, dtype=np.float64)[is_there]

    def together(
        self, group: _Group, trial: Trial, kept: np.ndarray, scores: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All settings of a group: found, unwanted, injected, each of shape (settings of the group,)."""
        import numpy as np

        order, held, goes = self._ordered(group.knobs, trial, kept, scores)
        which = np.array(group.orders)
        passes = goes[which] & (held[which] >= np.array(group.thresholds, dtype=np.float64)[:, None])
        rows = kept[order][which]
        if trial.reranks:
            passes &= np.cumsum(passes, axis=1) <= final_limit(trial.request.limit)
        if trial.reranks or follows_channel_rule(trial.profile, trial.request.rule):
            lengths = np.where(passes, self._lengths[rows], 0)
            passes &= (np.cumsum(passes, axis=1) <= MOST_ENTRIES) & (np.cumsum(lengths, axis=1) <= MOST_CHARACTERS)
        is_found = np.ones(len(passes), dtype=bool)
        for is_wanted in self._is_wanted:
            is_found &= (passes & is_wanted[rows]).any(axis=1)
        return is_found, (passes & self._is_unwanted[rows]).any(axis=1), passes.sum(axis=1)

    def _facts_of(self, name: object, places: np.ndarray, fact: Callable[[MemoryEntry], float]) -> np.ndarray:
        """A fact of each row, shape (all rows,), float64, known at these places; it is worked out once for a row."""
        import numpy as np

        known = self._facts.get(name)
        if known is None:
            known = self._facts[name] = np.full(len(self._entries), np.nan)
        for place in places[np.isnan(known[places])].tolist():
            known[place] = fact(self._entries[place])
        return known

    def _ordered(
        self, knobs: Sequence[RerankSettings], trial: Trial, kept: np.ndarray, scores: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows as they compete, for each order: their places among those kept, the score held against the
        threshold, and whether they may go in at all; shapes (orders, rows)."""
        import numpy as np

        skips = self._facts_of(
            (trial.profile.version, trial.request.rule), kept, lambda entry: skipped_because(entry, trial) is not None
        )
        may = skips[kept] == 0
        may &= ~np.array(repeated_keys([self._entries[at].key for at in kept.tolist()], trial.profile), dtype=bool)
        fades = self._facts_of("fades", kept, lambda entry: _fade(entry, trial))[kept]
        if not trial.reranks:
            by_channel = follows_channel_rule(trial.profile, trial.request.rule)
            decays = trial.profile.decays_channel if by_channel else trial.profile.decays_cli
            held = scores * fades if decays else scores
            return np.arange(len(kept))[None, :], held[None, :], may[None, :]
        relevance, importance = np.clip(scores, 0.0, 1.0), self._importance[kept]
        blended = np.empty((len(knobs), len(kept)))
        for at, one in enumerate(knobs):
            (of_relevance, of_importance, of_recency), total = blend_weights(one)
            score = relevance * of_relevance + importance * of_importance + fades * of_recency
            blended[at] = np.clip(score, 0.0, 1.0) if total is None else score / total
        order = np.argsort(-blended, axis=1, kind="stable")
        goes = self._without_doubles(order, may[order], [self._entries[place] for place in kept])
        diverse = [at for at, one in enumerate(knobs) if one.strategy == "mmr" and int(goes[at].sum()) >= one.threshold]
        if diverse and len(kept):
            shares = np.array([min(max(knobs[at].mmr_lambda, 0.0), 1.0) for at in diverse])
            rows = np.array(diverse)
            order[rows], goes[rows] = _by_mmr(order[rows], goes[rows], blended[rows], self._likeness_of(kept), shares)
        return order, np.take_along_axis(blended, order, axis=1), goes

    def _without_doubles(self, order: np.ndarray, goes: np.ndarray, entries: Sequence[MemoryEntry]) -> np.ndarray:
        """Which rows are left after the later of two that are alike is gone, in each order."""
        import numpy as np

        for entry in entries:
            self._texts.add(entry)
        places = {entry.handle: at for at, entry in enumerate(entries)}
        same, near = (np.zeros((len(entries), len(entries)), dtype=bool) for _ in range(2))
        for handle, place in places.items():
            for other in self._texts.alike[handle] & places.keys():
                (same if other in self._texts.same[handle] else near)[place, places[other]] = True
        if not (same.any() or near.any()):
            return goes
        rows = np.arange(len(order))
        seen, stays = (np.zeros(order.shape, dtype=bool) for _ in range(2))
        left = goes.copy()
        for step in range(order.shape[1]):
            at = order[:, step]
            is_double = (seen & same[at]).any(axis=1) | (stays & near[at]).any(axis=1)
            left[:, step] &= ~is_double
            seen[rows, at] = goes[:, step]
            stays[rows, at] = left[:, step]
        return left

    def _likeness_of(self, kept: np.ndarray) -> np.ndarray:
        """How alike the words of each two rows at these places are, shape (rows, rows)."""
        import numpy as np

        known, table = (kept[:0], np.zeros((0, 0))) if self._likeness is None else self._likeness
        if not np.isin(kept, known).all():
            known = np.union1d(known, kept)
            table = likeness_table([self._texts.words[self._entries[place].handle] for place in known])
            self._likeness = (known, table)
        at = np.searchsorted(known, kept)
        part: np.ndarray = table[np.ix_(at, at)]
        return part


def _fade(entry: MemoryEntry, trial: Trial) -> float:
    """What age leaves of a score."""
    age = None if entry.category == "core" else age_in_days(entry.timestamp, trial.request.as_of)
    return 1.0 if age is None else fading(age)


def _by_mmr(
    order: np.ndarray, goes: np.ndarray, blended: np.ndarray, likeness: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Several orders by maximal marginal relevance: the rows that go in the order they are taken, then the others.

    Shapes (orders, rows), `likeness` (rows, rows), `shares` (orders,). Of equal values the last is taken.
    """
    import numpy as np

    rows, count = np.arange(len(order)), order.shape[1]
    scores = np.take_along_axis(blended, order, axis=1)
    alike = likeness[order[:, :, None], order[:, None, :]]
    open_ = goes.copy()
    chosen: np.ndarray = goes.argmax(axis=1)
    repeats = np.zeros(order.shape)
    taken = np.full(order.shape, -1)
    for step in range(int(goes.sum(axis=1).max())):
        is_going = open_[rows, chosen]
        taken[is_going, step] = chosen[is_going]
        open_[rows, chosen] = False
        np.maximum(repeats, alike[rows, chosen], out=repeats)
        values = shares[:, None] * scores - (1.0 - shares[:, None]) * repeats
        values[~open_] = -np.inf
        chosen = count - 1 - values[:, ::-1].argmax(axis=1)
    new_order, new_goes = np.empty_like(order), np.zeros_like(goes)
    for row in range(len(order)):
        first = taken[row][taken[row] >= 0]
        rest = np.flatnonzero(~goes[row])
        new_order[row] = order[row][np.concatenate([first, rest])]
        new_goes[row, : len(first)] = True
    return new_order, new_goes


def _recall_key(trial: Trial) -> object:
    """What decides which rows are recalled with which scores, and in what kind of turn."""
    settings, request = trial.settings, trial.request
    return (
        trial.profile.version, request.limit, request.rule, request.layer, request.agents, request.namespace,
        settings.vector_weight, settings.keyword_weight, mode_in(settings, trial.profile), settings.threat_scan,
        trial.reranks, pool_size(trial),
    )  # fmt: skip
