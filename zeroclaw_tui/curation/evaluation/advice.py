"""Which settings answer more recall tests: chosen on one half of them, checked on the other, and what none can reach.

A test counts as `evaluate` counts it: it passes when every expected key reaches the prompt and no rejected one does.
Evidence is gathered once for a query; what hundreds of settings make of it is arithmetic (`scoring.measures`).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.config.setting_names import is_read
from zeroclaw_tui.curation.evaluation.figures import (
    Evaluation,
    RunningEvaluation,
    trial_of_test,
    with_batched_queries,
)
from zeroclaw_tui.curation.evaluation.queries import TestQuery
from zeroclaw_tui.curation.recall import (
    GatheredEvidence,
    dated,
    gather_each,
    gather_evidence,
    read_rows,
    why_by_words,
)
from zeroclaw_tui.curation.setting_change import (
    KEYWORD_WEIGHT,
    RERANK,
    SEARCH_MODE,
    THRESHOLD,
    VECTOR_WEIGHT,
    Value,
    target_of,
    written_settings,
)
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.memory.text import counted, first_names
from zeroclaw_tui.scoring.decide import decide, serves
from zeroclaw_tui.scoring.evidence import MOST, OwnEvidence, StageEvidence
from zeroclaw_tui.scoring.injection import scan, skipped_because
from zeroclaw_tui.scoring.measures import KnownTexts, Settings, Sweep
from zeroclaw_tui.scoring.profiles import LANDMARKS, RerankSettings, RerankStrategy, SearchMode, Trial, profile_for

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.curation.library import Library

LEAST_IN_HALF = 10
"""With fewer tests in either half nothing is advised: by chance some of hundreds of settings would look better."""
RESAMPLES = 4_000
_RANGE = (2.5, 97.5)
_ROWS_KEPT = 20_000
_WEIGHTS = ((1.0, 0.0), (0.9, 0.1), (0.8, 0.2), (0.7, 0.3), (0.6, 0.4), (0.5, 0.5), (0.3, 0.7), (0.1, 0.9), (0.0, 1.0))
_THRESHOLDS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)
_MODES: tuple[SearchMode, ...] = ("hybrid", "bm25", "embedding")
_LIMITS = (1, 2, 3, 4, 5, 8, 10, 15, 20)
_SHARES = (0.0, 0.1, 0.2, 0.4, 0.6)
_MULTIPLIERS = (1, 2, 4, 8)
_JOINED_WEIGHTS = ((0.7, 0.3), (0.5, 0.5), (0.3, 0.7))
_JOINED_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
_JOINED_BLENDS = ((0.2, 0.1), (0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.4, 0.1))
_JOINED_ORDERS: tuple[tuple[RerankStrategy, float], ...] = (("none", 0.7), ("mmr", 0.5), ("mmr", 0.7), ("mmr", 0.9))

Lever = Literal[
    "weights", "threshold", "search mode", "rerank", "mmr", "importance", "recency", "candidates", "mmr from",
    "limit", "version", "vectors",
]  # fmt: skip
"""What is tried alone; limit, version and vectors are nothing that a setting of config.toml is."""
NO_SETTINGS: tuple[Lever, ...] = ("limit", "version", "vectors")

Because = Literal["gone", "hidden", "never injected", "no embeddings", "not embedded", "no shared word"]
"""Why no setting brings a memory: nobody has its key; filters or a newer memory keep it back; the version never puts it
in a prompt; its words are not the query's and there are no embeddings, it has none, or they do not help."""
_LIFTS: Mapping[Because, str] = {
    "gone": "No memory has these keys: store them, or take them out of the tests.",
    "hidden": "A session, an agent or a newer memory keeps these from the query: ask as the one they belong to.",
    "never injected": "This version never puts these in such a prompt, for their key, category or text: store them so "
    "that it does.",
    "no embeddings": "These share no word with their query: switch embeddings on, or reword them.",
    "not embedded": "These share no word with their query and have no vector: re-embed them.",
    "no shared word": "These share no word with their query, and their vector is not near it: reword them.",
}

_BY_WORDS_ALONE = "Tests were asked by words alone, which is not how the agent recalls, so nothing is advised."


@dataclass(frozen=True, slots=True)
class Gain:
    """What a setting gains over today's, -1..1, as a share of the tests: on the half it was chosen by, and on the
    held-out half with the 95 % range of a bootstrap over its queries."""

    chosen: float
    held_out: float
    low: float
    high: float

    @property
    def is_proven(self) -> bool:
        """Whether it wins on tests that it was not chosen by, whichever of them there might have been."""
        return self.held_out > 0 and self.low > 0


@dataclass(frozen=True, slots=True)
class LeverWorth:
    """What one lever is worth with all else as today: its best value of those tried, and what that gains.

    `is_setting` says that this version reads it from config.toml.
    """

    lever: Lever
    today: str
    best: str
    gain: Gain
    is_setting: bool

    def as_json(self) -> dict[str, Any]:
        """The lever's part of the document."""
        named = {"lever": self.lever, "today": self.today, "best": self.best}
        return {**named, **asdict(self.gain), "setting": self.is_setting}


@dataclass(frozen=True, slots=True)
class AdvisedSettings:
    """Settings that win on the held-out half. `values` are what changes in config.toml, by name; `lost` are the tests
    of either half that pass today and no more with them, `won` those that only then pass, by their names."""

    trial: Trial
    values: Mapping[str, Value]
    gain: Gain
    passed: tuple[int, int]
    """How many held-out tests pass today, and with them."""
    injected: tuple[float, float]
    """How many memories a prompt has today and with them, in the mean over all tests."""
    won: tuple[str, ...]
    lost: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The advice's part of the document."""
        return {
            "settings": dict(self.values),
            **asdict(self.gain),
            "held_out_passed": {"today": self.passed[0], "advised": self.passed[1]},
            "injected": {"today": self.injected[0], "advised": self.injected[1]},
            "won": list(self.won),
            "lost": list(self.lost),
        }


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """Tests that no setting can pass, for one reason: the keys it is about, and what would lift it."""

    because: Because
    tests: int
    keys: tuple[str, ...]

    @property
    def lift(self) -> str:
        """What would bring them, in a sentence."""
        return _LIFTS[self.because]

    def as_json(self) -> dict[str, Any]:
        """Its part of the document."""
        return {**asdict(self), "lift": self.lift}


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How many tests any of the settings tried passes (each for itself), and how many one could pass at all because
    some stage finds what they expect."""

    tests: int
    tried: int
    reachable: int
    out_of_reach: tuple[OutOfReach, ...]

    def as_json(self) -> dict[str, Any]:
        """The ceiling's part of the document."""
        return {**asdict(self), "out_of_reach": [each.as_json() for each in self.out_of_reach]}


@dataclass(frozen=True, slots=True)
class MeasuredAdvice:
    """What was measured. `advice` is None where nothing wins, and `why_none` says why; `settings` are how many were
    tried, `held_out` how many of the `tests` no setting was chosen by."""

    tests: int
    held_out: int
    settings: int
    today: Evaluation
    levers: tuple[LeverWorth, ...]
    advice: AdvisedSettings | None
    why_none: str | None
    ceiling: Ceiling
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document of `memory advise`."""
        today = self.today.as_json()
        del today["queries"]
        return {
            "tests": self.tests,
            "held_out": self.held_out,
            "settings_tried": self.settings,
            "today": today,
            "levers": [each.as_json() for each in self.levers],
            "advice": None if self.advice is None else self.advice.as_json(),
            "why_none": self.why_none,
            "ceiling": self.ceiling.as_json(),
            "notes": list(self.notes),
        }


def is_held_out(query: str, salt: str = "") -> bool:
    """Whether a test is of the half that nothing is chosen by: one bit of the SHA-256 of its query, so that it stays
    there whatever else the file holds. Another `salt` makes other halves."""
    alike = " ".join(query.casefold().split())
    return bool(hashlib.sha256(f"{salt}{alike}".encode("utf-8", "surrogatepass")).digest()[0] & 1)


async def advise(
    library: Library, tests: Sequence[TestQuery], plain: Trial, advance: Advance | None = None, *, salt: str = ""
) -> MeasuredAdvice:
    """Measure what hundreds of settings make of the tests. Only reads.

    `plain` is the turn as it is, with a blank message. `advance` is told how many tests are done, and stops it with
    False. Raises InspectorError kinds, Refused for a store that no ZeroClaw reads, SearchInterrupted when stopped.
    """
    memory = library.memory
    if memory.program is not None or memory.not_read_because is not None:
        raise Refused(
            memory.not_read_because or f"{memory.program} ranks this store by its own rule, which no setting changes.",
            hint="Advice is for stores that ZeroClaw reads.",
        )
    plain = dated(plain)
    measure = _Measurement(with_batched_queries(library, [asked.query for asked in tests]), tests, plain)
    trials = [trial_of_test(library, plain, asked) for asked in tests]
    async with aclosing(_one_ahead(gather_each(measure.library, map(measure.of_all_modes, trials)))) as coming:
        done = 0
        async for gathered in coming:
            await measure.add(tests[done], trials[done], gathered)
            done += 1
            if advance is not None and not advance(done):
                raise SearchInterrupted
    return await asyncio.to_thread(measure.result, salt)


async def _one_ahead(source: AsyncGenerator[GatheredEvidence, None]) -> AsyncGenerator[GatheredEvidence, None]:
    """The same, each asked for while the one before it is measured."""
    ahead = asyncio.ensure_future(anext(source, None))
    try:
        while (found := await ahead) is not None:
            ahead = asyncio.ensure_future(anext(source, None))
            yield found
    finally:
        ahead.cancel()
        await asyncio.gather(ahead, return_exceptions=True)
        await source.aclose()


class _Measurement:
    """Which test passes with which setting, and what of it no setting decides."""

    def __init__(self, library: Library, tests: Sequence[TestQuery], plain: Trial) -> None:
        import numpy as np

        self.library = library
        self._tests, self._plain = tests, plain
        self._candidates = tuple(_candidates(library, plain))
        self._settings = Settings([trial for _, trial in self._candidates])
        self._without_vectors = Settings([plain])
        shape = (len(tests), len(self._settings))
        self._passes = np.zeros(shape, dtype=bool)
        self._measured = np.zeros(shape, dtype=bool)
        self._injected = np.zeros(shape, dtype=np.int64)
        self._passes_by_words = np.zeros(len(tests), dtype=bool)
        self._is_vector_live = False
        self._out_of_reach: dict[int, dict[str, Because]] = {}
        self._rows: dict[Handle, MemoryEntry] = {}
        self._texts = KnownTexts()
        self._today = RunningEvaluation("as it is")
        self._done = 0

    async def add(self, asked: TestQuery, plain: Trial, gathered: GatheredEvidence) -> None:
        """Measure the next test; `plain` is its recall as it is, `gathered` what that finds `of_all_modes`."""
        at = self._done
        if not gathered.serves(plain):
            gathered = await gather_evidence(self.library, self.of_all_modes(plain))
        await self._sweep(at, asked, gathered, plain)
        for place, trial in () if self._measured[at].all() else self._unmeasured(at, plain):
            if not self._measured[at, place]:
                others = await gather_evidence(self.library, self.of_all_modes(trial))
                await self._sweep(at, asked, others, plain)
        evidence = gathered.evidence[0]
        if isinstance(evidence, StageEvidence) and evidence.vector_live and plain.settings.search_mode != "bm25":
            self._is_vector_live = True
            await self._sweep_by_words(at, asked, evidence, plain)
        else:
            self._passes_by_words[at] = self._passes[at, 0]
        if not self._passes[at].any():
            self._out_of_reach[at] = await self._why_not(asked, gathered, plain)
        self._today.add(asked, plain, await gathered.replayed(plain))
        self._done += 1

    def of_all_modes(self, trial: Trial) -> Trial:
        """What to ask the store: everything the stages find serves every mode, a rule of its own is asked as it is."""
        if not self.library.memory.capabilities.stages:
            return trial
        return trial._replace(settings=trial.settings._replace(search_mode="hybrid"))

    def _unmeasured(self, at: int, plain: Trial) -> list[tuple[int, Trial]]:
        """One setting of each kind that needs other evidence: another version may ask FTS5 otherwise, and what comes to
        the LIKE fall-back needs that read."""
        sweep = Sweep((), self._settings, plain.request)
        return [
            (group.places[0], sweep.trial(group.first))
            for group in self._settings.groups
            if not self._measured[at, group.places[0]]
        ]

    async def _sweep(self, at: int, asked: TestQuery, gathered: GatheredEvidence, plain: Trial) -> None:
        sweep = await asyncio.to_thread(Sweep, gathered.evidence, self._settings, plain.request)
        rows = await self._read(sweep.wanted, gathered)
        outcomes = await asyncio.to_thread(sweep.outcomes, rows, asked.expected, asked.rejected, self._texts)
        new = outcomes.measured
        self._passes[at, new] = (outcomes.found & ~outcomes.unwanted)[new]
        self._injected[at, new] = outcomes.injected[new]
        self._measured[at] |= new
        gathered.rows |= rows

    async def _sweep_by_words(self, at: int, asked: TestQuery, evidence: StageEvidence, plain: Trial) -> None:
        by_words = _without_vectors(evidence)
        if not serves((by_words,), plain):
            whole = (await gather_evidence(self.library, self.of_all_modes(plain))).evidence[0]
            if isinstance(whole, StageEvidence):
                by_words = _without_vectors(whole)
        sweep = Sweep((by_words,), self._without_vectors, plain.request)
        rows = await self._read(sweep.wanted, None)
        outcomes = sweep.outcomes(rows, asked.expected, asked.rejected, self._texts)
        self._passes_by_words[at] = bool(outcomes.found[0] and not outcomes.unwanted[0])

    async def _read(self, handles: Sequence[Handle], gathered: GatheredEvidence | None) -> dict[Handle, MemoryEntry]:
        own = {} if gathered is None else gathered.rows
        if own:
            return own
        if len(self._rows) > _ROWS_KEPT:
            self._rows, self._texts = {}, KnownTexts()
        self._rows |= await read_rows(self.library, [one for one in handles if one not in self._rows])
        return {one: self._rows[one] for one in handles if one in self._rows}

    async def _why_not(self, asked: TestQuery, gathered: GatheredEvidence, plain: Trial) -> dict[str, Because]:
        """The expected keys that no setting can bring, each with its reason."""
        if not gathered.serves(_widest(plain)):
            gathered = await gather_evidence(self.library, self.of_all_modes(plain))
        found: dict[str, Because] = {}
        for key in asked.expected:
            entries = [entry for entry in await self.library.memory.with_key(key) if entry.key == key]
            because: Because | None = "gone"
            for entry in entries:
                because = await asyncio.to_thread(_out_of_reach, entry, gathered, plain)
                if because is None:
                    break
            if because is not None:
                found[key] = because
        return found

    def result(self, salt: str) -> MeasuredAdvice:
        """All that was measured, put together."""
        import numpy as np

        today = self._today.evaluation
        held = np.array([is_held_out(asked.query, salt) for asked in self._tests], dtype=bool)
        is_whole: np.ndarray = np.logical_and.reduce(self._measured, axis=0)
        levers = tuple(self._levers(held, is_whole))
        advice, why_none = self._advice(held, is_whole)
        if why_by_words(today.notes):
            advice, why_none = None, _BY_WORDS_ALONE
        out_of_reach = self._out_of_reach_told()
        unreachable = sum(1 for reasons in self._out_of_reach.values() if reasons)
        tried = int(self._passes[:, is_whole].any(axis=1).sum()) if len(self._tests) else 0
        ceiling = Ceiling(len(self._tests), tried, len(self._tests) - unreachable, out_of_reach)
        return MeasuredAdvice(
            len(self._tests), int(held.sum()), int(is_whole.sum()), today, levers, advice, why_none, ceiling,
            today.notes,
        )  # fmt: skip

    def _best(self, places: Sequence[int], held: np.ndarray, *, changes: bool) -> int | None:
        """The place of the setting that passes most of the half to choose by; of equal ones the nearest to today's.

        With `changes` today's own is none of them.
        """
        if not places or held.all():
            return None
        passed = self._passes[~held].sum(axis=0)
        today = self._plain
        return min(
            (place for place in places if place or not changes),
            key=lambda place: (-int(passed[place]), *_distance(today, self._settings.trials[place])),
            default=None,
        )

    def _gain(self, passes: np.ndarray, held: np.ndarray) -> Gain:
        import numpy as np

        differs = passes.astype(np.float64) - self._passes[:, 0]
        chosen, checked = differs[~held], differs[held]
        if not len(checked):
            return Gain(float(chosen.mean()) if len(chosen) else 0.0, 0.0, 0.0, 0.0)
        chance = np.random.default_rng(len(checked))
        means = checked[chance.integers(0, len(checked), (RESAMPLES, len(checked)))].mean(axis=1)
        low, high = np.percentile(means, _RANGE)
        return Gain(float(chosen.mean()) if len(chosen) else 0.0, float(checked.mean()), float(low), float(high))

    def _levers(self, held: np.ndarray, is_whole: np.ndarray) -> Iterator[LeverWorth]:
        by_lever: dict[Lever, list[int]] = {}
        for place, (lever, _) in enumerate(self._candidates):
            if lever is not None and is_whole[place]:
                by_lever.setdefault(lever, []).append(place)
        for lever, places in by_lever.items():
            best = self._best(places, held, changes=True)
            if best is None:
                continue
            trial = self._settings.trials[best]
            yield LeverWorth(
                lever, _words(lever, self._plain), _words(lever, trial), self._gain(self._passes[:, best], held),
                lever not in NO_SETTINGS,
            )  # fmt: skip
        if self._is_vector_live:
            yield LeverWorth("vectors", "on", "off", self._gain(self._passes_by_words, held), False)

    def _advice(self, held: np.ndarray, is_whole: np.ndarray) -> tuple[AdvisedSettings | None, str | None]:
        halves = int((~held).sum()), int(held.sum())
        if min(halves) < LEAST_IN_HALF:
            have = f"{counted(len(self._tests), 'test')} ({halves[0]} to choose by, {halves[1]} held out)"
            return None, f"{have} are too few: each half needs {LEAST_IN_HALF}, so nothing is advised."
        places = [
            place for place, (lever, _) in enumerate(self._candidates) if lever not in NO_SETTINGS and is_whole[place]
        ]
        best = self._best(places, held, changes=False)
        if best is None or not best:
            return None, "No setting passes more tests than today's."
        trial = self._settings.trials[best]
        gain = self._gain(self._passes[:, best], held)
        if gain.chosen <= 0:
            return None, "No setting passes more tests than today's."
        if not gain.is_proven:
            return None, (
                f"The setting that is best on one half ({changes_words(written_settings(self.library, trial))}) gains "
                f"{gain.held_out:+.2f} on the other, between {gain.low:+.2f} and {gain.high:+.2f}: that may be chance."
            )
        before, after = self._passes[:, 0], self._passes[:, best]
        names = [asked.name for asked in self._tests]
        advised = AdvisedSettings(
            trial,
            written_settings(self.library, trial),
            gain,
            (int(before[held].sum()), int(after[held].sum())),
            (float(self._injected[:, 0].mean()), float(self._injected[:, best].mean())),
            tuple(name for name, was, now in zip(names, before, after, strict=True) if now and not was),
            tuple(name for name, was, now in zip(names, before, after, strict=True) if was and not now),
        )
        return advised, None

    def _out_of_reach_told(self) -> tuple[OutOfReach, ...]:
        tests: dict[Because, int] = {}
        keys: dict[Because, dict[str, None]] = {}
        for reasons in self._out_of_reach.values():
            for because in dict.fromkeys(reasons.values()):
                tests[because] = tests.get(because, 0) + 1
            for key, because in reasons.items():
                keys.setdefault(because, {})[key] = None
        return tuple(OutOfReach(because, tests[because], tuple(keys[because])) for because in _LIFTS if because in keys)


def advice_sentences(measured: MeasuredAdvice) -> tuple[str, ...]:
    """What is advised, with its range, and what it costs; or why nothing is."""
    advice = measured.advice
    if advice is None:
        return (measured.why_none or "Nothing is advised.",)
    before, after = advice.passed
    gain = advice.gain
    told = [
        f"Advised: {changes_words(advice.values)}.",
        f"Of the {measured.held_out:,} held-out tests {after:,} pass in place of {before:,}: {gain.held_out:+.2f}, "
        f"between {gain.low:+.2f} and {gain.high:+.2f}.",
        f"A prompt then has {advice.injected[1]:.1f} memories in place of {advice.injected[0]:.1f}, in the mean.",
    ]
    if advice.lost:
        told.append(f"{counted(len(advice.lost), 'test')} of all would no longer pass: {first_names(advice.lost)}.")
    return tuple(told)


def gain_words(measured: MeasuredAdvice) -> str:
    """What the figures beside the levers count."""
    return (
        f"gain: how much larger a share of the {counted(measured.held_out, 'held-out test')} passes (+1.00 is all of "
        "them); no setting: config.toml has none for it."
    )


def ceiling_sentences(measured: MeasuredAdvice) -> tuple[str, ...]:
    """What the best setting of each test comes to, what none can pass, and what would lift that."""
    ceiling = measured.ceiling
    told = [
        f"With the best of the settings for each, {ceiling.tried:,} of {counted(ceiling.tests, 'test')} pass; "
        f"{ceiling.reachable:,} could, as some stage finds what they expect."
    ]
    for each in ceiling.out_of_reach:
        told.append(f"{counted(each.tests, 'test')} out of reach ({first_names(each.keys)}). {each.lift}")
    return tuple(told)


def changes_words(values: Mapping[str, Value]) -> str:
    """Settings in a few words: "min_relevance_score 0.25, search_mode bm25"."""
    return ", ".join(f"{name.removeprefix('memory.')} {_value_words(value)}" for name, value in values.items())


def toml_lines(values: Mapping[str, Value]) -> tuple[str, ...]:
    """The same as lines of config.toml, below their table."""
    lines = [f"{name.removeprefix('memory.')} = {_toml_value(value)}" for name, value in values.items()]
    return ("[memory]", *lines) if lines else ()


def _toml_value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _value_words(value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else f"{value:g}"


def _candidates(library: Library, plain: Trial) -> Iterator[tuple[Lever | None, Trial]]:
    """Every setting that is tried, today's first; those of one lever alone with its name, joined ones with None."""
    seen: set[object] = set()
    for lever, trial in _all_candidates(library, plain):
        key = (lever if lever in NO_SETTINGS else None, trial.profile.version, trial.request.limit, trial.settings)
        if key not in seen:
            seen.add(key)
            yield lever, trial


def _all_candidates(library: Library, plain: Trial) -> Iterator[tuple[Lever | None, Trial]]:
    present = plain.settings
    target = target_of(library.config, plain.profile.version)

    def reads(*names: str) -> bool:
        return all(is_read(name, target) for name in names)

    memory = library.memory
    has_vectors = memory.embeds_itself or (library.embedder is not None and memory.capabilities.vectors)
    has_stages = memory.capabilities.stages
    weighs = has_stages and has_vectors and reads(VECTOR_WEIGHT, KEYWORD_WEIGHT)
    has_threshold = reads(THRESHOLD)
    has_modes = has_stages and has_vectors and plain.profile.search_modes and reads(SEARCH_MODE)
    has_rerank = plain.profile.reranks and reads(*RERANK)
    weights = _WEIGHTS if weighs else ()
    thresholds = _THRESHOLDS if has_threshold else (present.threshold,)

    def with_settings(**changes: Any) -> Trial:
        return plain._replace(settings=present._replace(**changes))

    yield None, plain
    for vector, keyword in weights:
        yield "weights", with_settings(vector_weight=vector, keyword_weight=keyword)
    if has_threshold:
        for threshold in thresholds:
            yield "threshold", with_settings(threshold=threshold)
    for mode in _MODES if has_modes else ():
        yield "search mode", with_settings(search_mode=mode)
    if has_rerank:
        for lever, rerank in _reranks_alone(present.rerank):
            yield lever, with_settings(rerank=rerank)
    for limit in _LIMITS:
        if limit != plain.request.limit:
            yield "limit", plain._replace(request=replace(plain.request, limit=limit))
    for version in LANDMARKS:
        if version != plain.profile.version:
            yield "version", plain._replace(profile=profile_for(version))
    for vector, keyword in weights:
        for threshold in thresholds:
            yield None, with_settings(vector_weight=vector, keyword_weight=keyword, threshold=threshold)
    for mode in _MODES if has_modes else ():
        for threshold in thresholds:
            yield None, with_settings(search_mode=mode, threshold=threshold)
    if has_rerank:
        pairs = (*(_JOINED_WEIGHTS if weighs else ()), (present.vector_weight, present.keyword_weight))
        limits = (*(_JOINED_THRESHOLDS if has_threshold else ()), present.threshold)
        for (vector, keyword), threshold, rerank in (
            (pair, limit, rerank)
            for pair in dict.fromkeys(pairs)
            for limit in dict.fromkeys(limits)
            for rerank in _reranks_joined(present.rerank)
        ):
            yield None, with_settings(vector_weight=vector, keyword_weight=keyword, threshold=threshold, rerank=rerank)


def _reranks_alone(present: RerankSettings) -> Iterator[tuple[Lever, RerankSettings]]:
    on = present._replace(enabled=True)
    yield "rerank", present._replace(enabled=not present.enabled)
    for share in (0.3, 0.5, 0.7, 0.9):
        yield "mmr", on._replace(strategy="mmr", mmr_lambda=share)
    for share in _SHARES:
        yield "importance", on._replace(importance_weight=share)
        yield "recency", on._replace(recency_weight=share)
    for multiplier in _MULTIPLIERS:
        yield "candidates", on._replace(candidate_multiplier=multiplier)
    if present.strategy == "mmr":
        for least in (2, 5, 10, 20):
            yield "mmr from", on._replace(threshold=least)


def _reranks_joined(present: RerankSettings) -> Iterator[RerankSettings]:
    for strategy, share in _JOINED_ORDERS:
        for importance, recency in _JOINED_BLENDS:
            yield present._replace(
                enabled=True,
                strategy=strategy,
                # Without mmr it changes nothing.
                mmr_lambda=share if strategy == "mmr" else present.mmr_lambda,
                importance_weight=importance,
                recency_weight=recency,
            )


def _distance(today: Trial, tried: Trial) -> tuple[int, float]:
    """How many settings differ, and by how much in all."""
    was, now = today.settings, tried.settings
    parts = [
        abs(was.vector_weight - now.vector_weight) + abs(was.keyword_weight - now.keyword_weight),
        abs(was.threshold - now.threshold),
        float(was.search_mode != now.search_mode),
        float(was.rerank.enabled != now.rerank.enabled),
        float(was.rerank.strategy != now.rerank.strategy),
        abs(was.rerank.mmr_lambda - now.rerank.mmr_lambda),
        abs(was.rerank.importance_weight - now.rerank.importance_weight),
        abs(was.rerank.recency_weight - now.rerank.recency_weight),
        abs(was.rerank.candidate_multiplier - now.rerank.candidate_multiplier) / 10,
        abs(was.rerank.threshold - now.rerank.threshold) / 10,
        abs(today.request.limit - tried.request.limit) / 10,
        float(today.profile.version != tried.profile.version),
    ]
    return sum(part > 0 for part in parts), sum(parts)


def _words(lever: Lever, trial: Trial) -> str:
    settings, rerank = trial.settings, trial.settings.rerank
    if lever == "weights":
        return f"{settings.vector_weight:g} / {settings.keyword_weight:g}"
    if lever == "limit":
        limit, _ = trial.request.limits_shown
        return f"{limit:,}" if limit else "unlimited"
    of_rerank = {
        "rerank": "on",
        "mmr": f"lambda {rerank.mmr_lambda:g}" if rerank.strategy == "mmr" else "off",
        "importance": f"{rerank.importance_weight:g}",
        "recency": f"{rerank.recency_weight:g}",
        "candidates": f"{rerank.candidate_multiplier:g} x",
        "mmr from": f"{rerank.threshold:,}",
    }
    if lever in of_rerank:
        return of_rerank[lever] if rerank.enabled else "off"
    return {
        "threshold": f"{settings.threshold:g}",
        "search mode": settings.search_mode,
        "version": trial.profile.version,
        "vectors": "on",
    }[lever]


def _without_vectors(evidence: StageEvidence) -> StageEvidence:
    """What the store finds where the query has no vector."""
    return replace(
        evidence, vector_handles=evidence.vector_handles[:0], vector_scores=evidence.vector_scores[:0],
        vector_live=False, vector_notes=(), faults=None, derived={},
    )  # fmt: skip


def _widest(plain: Trial) -> Trial:
    """The turn with everything that keyword and vector stage find."""
    request = replace(plain.request, limit=MOST, turn_limit=MOST)
    settings = plain.settings._replace(search_mode="hybrid", rerank=plain.settings.rerank._replace(enabled=False))
    return plain._replace(request=request, settings=settings)


def _out_of_reach(entry: MemoryEntry, gathered: GatheredEvidence, plain: Trial) -> Because | None:
    """Why no setting brings this memory for the query; None where a stage finds it and nothing keeps it back."""
    evidence = gathered.evidence[0]
    skipped = skipped_because(entry, plain) is not None
    if plain.profile.scans_content and scan(entry.content, plain.settings.threat_scan) is not None:
        skipped = True
    elif skipped and entry.session_id is not None and not plain.request.has_session:
        own = plain._replace(request=replace(plain.request, session_id=entry.session_id))
        if skipped_because(entry, own) is None:
            return "hidden"
    if isinstance(evidence, OwnEvidence):
        is_found = any(scored.entry.handle == entry.handle for scored in evidence.entries)
        return "never injected" if is_found and skipped else None if is_found else "no shared word"
    if entry.superseded_by is not None and plain.profile.hides_superseded:
        return "hidden"
    stages = (evidence.keyword_handles, evidence.vector_handles)
    if any(entry.handle in handles for handles in stages):
        ranking = decide(gathered.evidence, _widest(plain)).rankings[0]
        passing = () if ranking is None else evidence.rows.handles[ranking.passing]
        if entry.handle not in passing:
            return "hidden"
        return "never injected" if skipped else None
    if skipped:
        return "never injected"
    if not evidence.vector_live:
        return "no embeddings"
    if entry.embedding_dimensions != evidence.dimensions:
        return "not embedded"
    return "no shared word"
