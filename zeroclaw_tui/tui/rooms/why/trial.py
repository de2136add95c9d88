"""The settings of a trial: old and new value, changes by key or typing, and which have no effect here."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from zeroclaw_tui.curation.recall import trial_of, turn_limit
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest, Rule
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.evidence import Evidence, StageEvidence
from zeroclaw_tui.scoring.injection import RECALL_LIMIT
from zeroclaw_tui.scoring.keywords import lists_recent
from zeroclaw_tui.scoring.profiles import LANDMARKS, RerankStrategy, SearchMode, Trial, parse_version, profile_for
from zeroclaw_tui.scoring.what_if import Setting as ComplaintAbout
from zeroclaw_tui.scoring.what_if import complaints
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.widgets.header import Empty, KeyHint
from zeroclaw_tui.tui.widgets.rows import MARK, Pieces, RowState, RowStyles

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library

Name = Literal[
    "vector weight", "keyword weight", "threshold", "search mode", "limit",
    "scoring profile", "session", "decay on day", "injection rule",
    "rerank", "rerank strategy", "mmr lambda", "mmr from", "importance", "recency", "candidates",
]  # fmt: skip
MOST_RECALLED = 100
"""How many memories a trial recalls at most; ZeroClaw recalls 5 for a message."""
MOST_DAYS = 3650
MOST_SCORE = 1_000_000.0
EVERY_SESSION = "any"
_RULES: dict[Rule, str] = {"cli": "CLI", "channel": "channels", "cron": "cron", "library": "embedded"}
_DECIMALS = 6
LESS, MORE = "‹", "›"
_COLUMNS_FROM = 70
"""From so many cells on the settings stand in two columns."""
_GAP = 2
_SHORT_VALUE = 4
"""Reasons of idle settings stand in one column where their values are as short as most."""
_ARROWS = cell_len(f" {LESS} {MORE}")

Tab = Literal["stages", "what_if", "prompt"]
EmptyWords = tuple[str, str, Sequence[KeyHint]]
"""A fact, a sentence, and the keys that help."""
WAITING: EmptyWords = ("Asking the store …", "", ())


@dataclass(frozen=True, slots=True)
class TrialComparison:
    """A recall as it is, and as it is tried. `days` is how far `now` counts time decay on from `before`.

    `limits` are those of the turns that do not recall 5.
    """

    before: Trial
    now: Trial
    days: int = 0
    limits: Mapping[Rule, int] = field(default_factory=dict)

    @classmethod
    def nothing(cls, before: Trial, limits: Mapping[Rule, int] | None = None) -> TrialComparison:
        """Everything as it is."""
        return cls(before, before, limits=limits or {})

    def over(self, before: Trial) -> TrialComparison:
        """The same changes over another recall of the store: another message, or newly written memories."""
        tried = TrialComparison.nothing(before, self.limits)
        for setting in SETTINGS:
            if setting.is_changed(self):
                tried = setting.put(tried, setting.get(self))
        return tried

    def with_rule(self, rule: Rule) -> TrialComparison:
        """The same for a turn of this kind; the embedded agent may have a limit of its own."""
        request = self.now.request
        limit = self.limits.get(rule, RECALL_LIMIT)
        is_tried = request.limit != request.turn_limit
        request = replace(request, rule=rule, turn_limit=limit, limit=request.limit if is_tried else limit)
        return replace(self, now=self.now._replace(request=request))

    def on_day(self, days: int) -> TrialComparison:
        """The same so many days from now."""
        moment = datetime.fromisoformat(self.before.request.as_of) + timedelta(days=days)
        request = replace(self.now.request, as_of=moment.isoformat())
        return replace(self, now=self.now._replace(request=request), days=days)

    def with_profile(self, version: str) -> TrialComparison:
        """The same by the rules of this version."""
        return replace(self, now=self.now._replace(profile=profile_for(version)))

    @property
    def changed(self) -> tuple[Setting, ...]:
        """The modified settings."""
        return tuple(setting for setting in SETTINGS if setting.is_changed(self))

    @property
    def changed_words(self) -> str:
        """The modified settings in a few words: "threshold 0.31, limit 6"; empty without any."""
        return ", ".join(f"{setting.name} {setting.words(self)}" for setting in self.changed)


@dataclass(frozen=True, slots=True)
class Setting:
    """What all settings have: a value at a `place` within what is tried, and perhaps an `option` of `memory recall`.

    `takes` makes what is tried of a value where more than that place follows from it.
    """

    name: Name
    about: str
    place: str
    takes: Callable[[TrialComparison, Any], TrialComparison] | None = field(default=None, kw_only=True)
    option: str = field(default="", kw_only=True)

    def get(self, tried: TrialComparison) -> Any:
        """The value."""
        return attrgetter(self.place)(tried)

    def put(self, tried: TrialComparison, value: Any) -> TrialComparison:
        """The same with another value."""
        put: TrialComparison = self.takes(tried, value) if self.takes is not None else _with(tried, self.place, value)
        return put

    def words(self, tried: TrialComparison) -> str:
        """The value as a person reads it."""
        raise NotImplementedError

    def option_words(self, tried: TrialComparison) -> str:
        """The value as a shell reads it."""
        return str(self.get(tried))

    def is_changed(self, tried: TrialComparison) -> bool:
        """Whether the value is modified; two NaN values count as equal."""
        now, before = self.get(tried), self.get(TrialComparison.nothing(tried.before))
        return bool(now != before and (now == now or before == before))

    def reset(self, tried: TrialComparison) -> TrialComparison:
        """The setting with its old value."""
        return self.put(tried, self.get(TrialComparison.nothing(tried.before)))


@dataclass(frozen=True, slots=True)
class NumberSetting(Setting):
    """A number. `step` is what a key adds, `stride` what shift and the key add; it stays in `least`..`most`."""

    step: float
    stride: float
    least: float
    most: float
    is_whole: bool = False

    def words(self, tried: TrialComparison) -> str:
        """Two decimals, more where it has more; whole numbers without."""
        value: float = self.get(tried)
        if self.is_whole:
            return f"+{value:.0f}" if self.name == "decay on day" and value else f"{value:,.0f}"
        if not math.isfinite(value):
            return str(value)
        short = f"{value:.2f}"
        return short if float(short) == value else f"{value:.{_DECIMALS}g}"

    def stepped(self, tried: TrialComparison, way: int, *, is_big: bool = False) -> TrialComparison:
        """A step up or down within the limits; a value beyond them returns to the limit."""
        wanted = self.get(tried) + way * (self.stride if is_big else self.step)
        value = min(self.most, max(self.least, round(wanted, _DECIMALS))) if math.isfinite(wanted) else self.least
        return self.put(tried, int(value) if self.is_whole else value)

    def typed(self, tried: TrialComparison, text: str) -> TrialComparison:
        """Use exactly the typed number. Raises UsageError for an invalid one."""
        try:
            value = int(text) if self.is_whole else float(text)
        except ValueError:
            raise UsageError(f"{text} is not a number.") from None
        if not self.least <= value <= self.most:
            raise UsageError(f"The {self.name} must be between {self.least:g} and {self.most:,.0f}.")
        return self.put(tried, value)


@dataclass(frozen=True, slots=True)
class WordSetting(Setting):
    """One of a few words, in the order a key goes through them. `shown` are words for values that are none."""

    choices: Callable[[TrialComparison, Sequence[str]], Sequence[Any]]
    shown: Callable[[Any], str] = str

    def words(self, tried: TrialComparison) -> str:
        """The word that holds."""
        return self.shown_words(self.get(tried))

    def shown_words(self, value: Any) -> str:
        """A value as a person reads it."""
        return one_line(self.shown(value))

    def option_words(self, tried: TrialComparison) -> str:
        """The word, as a shell reads it too."""
        return self.words(tried)

    def moved(self, tried: TrialComparison, way: int, sessions: Sequence[str]) -> TrialComparison:
        """The next word or the one before; the ends are ends."""
        choices = list(self.choices(tried, sessions))
        at = choices.index(self.get(tried)) + way
        return self.put(tried, choices[min(len(choices) - 1, max(0, at))])


def _with(record: Any, place: str, value: Any) -> Any:
    """The record with another value at a place within it, such as "now.settings.threshold"."""
    name, _, rest = place.partition(".")
    inner = _with(getattr(record, name), rest, value) if rest else value
    is_named_tuple = isinstance(record, tuple)
    return record._replace(**{name: inner}) if is_named_tuple else replace(record, **{name: inner})


def _session_choices(tried: TrialComparison, sessions: Sequence[str]) -> Sequence[str | None]:
    own = [tried.before.request.session_id, tried.now.request.session_id]
    return [None, *dict.fromkeys([*(one for one in own if one and one not in sessions), *sessions])]


def _versions(tried: TrialComparison, sessions: Sequence[str]) -> Sequence[str]:
    """A version of each set of rules, and those in use, oldest first."""
    versions = {*LANDMARKS, tried.before.profile.version, tried.now.profile.version}
    return sorted(versions, key=parse_version)


def _one_of(words: object) -> Callable[[TrialComparison, Sequence[str]], Sequence[Any]]:
    return lambda tried, sessions: get_args(words)


SETTINGS: tuple[NumberSetting | WordSetting, ...] = (
    NumberSetting(
        "vector weight",
        "Weight of the vector score (similar meaning) in the final score.",
        "now.settings.vector_weight", 0.05, 0.25, 0.0, MOST_SCORE, option="vector-weight",
    ),
    NumberSetting(
        "keyword weight",
        "Weight of the keyword score (same words) in the final score.",
        "now.settings.keyword_weight", 0.05, 0.25, 0.0, MOST_SCORE, option="keyword-weight",
    ),
    NumberSetting(
        "threshold",
        "The final score a memory must reach to be injected.",
        "now.settings.threshold", 0.05, 0.25, 0.0, MOST_SCORE, option="threshold",
    ),
    WordSetting(
        "search mode",
        "Keywords and vectors (hybrid), keywords only (bm25), or vectors only (embedding).",
        "now.settings.search_mode", _one_of(SearchMode), option="search-mode",
    ),
    NumberSetting(
        "limit",
        "How many memories are recalled. ZeroClaw uses 5, unless an embedded agent's profile sets another.",
        "now.request.limit", 1, 5, 1, MOST_RECALLED, True,
    ),
    WordSetting(
        "scoring profile",
        "The ZeroClaw version whose scoring rules apply. Press enter to see all.",
        "now.profile.version", _versions, takes=TrialComparison.with_profile,
    ),
    WordSetting(
        "session",
        "Only memories of this session are recalled. Press enter to see all.",
        "now.request.session_id", _session_choices, lambda value: EVERY_SESSION if value is None else str(value),
    ),
    NumberSetting(
        "decay on day",
        "Decay this many days from now. Scores halve every 7 days, except for core memories.",
        "days", 1, 7, 0, MOST_DAYS, True, takes=TrialComparison.on_day,
    ),
    WordSetting(
        "injection rule",
        "Which agent recalls: the CLI agent, a channel (Telegram, …), cron, or the embedded agent.",
        "now.request.rule", _one_of(Rule), lambda value: _RULES[value], takes=TrialComparison.with_rule,
    ),
    WordSetting(
        "rerank",
        "Recalls more, adds importance and age to the score, drops duplicates and keeps the best.",
        "now.settings.rerank.enabled", lambda tried, sessions: (False, True),
        lambda value: "on" if value else "off", option="rerank",
    ),
    WordSetting(
        "rerank strategy",
        "mmr moves down memories that repeat an earlier one; none keeps the order of the scores.",
        "now.settings.rerank.strategy", _one_of(RerankStrategy), option="rerank-strategy",
    ),
    NumberSetting(
        "mmr lambda",
        "For mmr: 1 uses only the score, 0 only how much a memory repeats.",
        "now.settings.rerank.mmr_lambda", 0.05, 0.25, 0.0, 1.0, option="mmr-lambda",
    ),
    NumberSetting(
        "mmr from",
        "How many memories mmr needs before it reorders them.",
        "now.settings.rerank.threshold", 1, 5, 0, MOST_RECALLED, True, option="rerank-threshold",
    ),
    NumberSetting(
        "importance",
        "Weight of a memory's importance in rerank. The recall score gets the rest.",
        "now.settings.rerank.importance_weight", 0.05, 0.25, 0.0, 1.0, option="importance-weight",
    ),
    NumberSetting(
        "recency",
        "Weight of recency in rerank. It halves every 7 days, except for core memories.",
        "now.settings.rerank.recency_weight", 0.05, 0.25, 0.0, 1.0, option="recency-weight",
    ),
    NumberSetting(
        "candidates",
        "How many candidates rerank gets, as a multiple of the limit.",
        "now.settings.rerank.candidate_multiplier", 1, 5, 1, 20, True, option="candidate-multiplier",
    ),
)  # fmt: skip
"""Every setting of a trial, in the order they are on the screen."""
_OF_RERANK: tuple[Name, ...] = (
    "rerank", "rerank strategy", "mmr lambda", "mmr from", "importance", "recency", "candidates",
)  # fmt: skip
_NO_SCORES = ("no scores", "This message lists the newest memories, which have no score.")


@dataclass(frozen=True, slots=True)
class TrialContext:
    """What of a store decides which settings do something. `own_rule` is the name of a backend that ranks by one."""

    own_rule: str | None = None
    has_vectors: bool = True
    why_no_vectors: str | None = None
    has_sessions: bool = True

    @classmethod
    def of(cls, library: Library, evidence: Evidence | None) -> TrialContext:
        """From the evidence; without evidence, from the store."""
        why = library.why_no_vectors
        sessions = "sessions" not in library.memory.why_not
        if evidence is None:
            return cls(None, why is None, why, sessions)
        if not isinstance(evidence, StageEvidence):
            return cls(library.memory.name, why is None, why, sessions)
        return cls(None, evidence.vector_live, why, sessions and evidence.has_sessions)


def idle_because(name: Name, tried: TrialComparison, context: TrialContext) -> tuple[str, str] | None:
    """Why a setting does nothing in this trial, in a few words and in a sentence; None when it does something."""
    trial = tried.now
    if name in ("vector weight", "keyword weight"):
        return _idle_weights(tried, context)
    if name == "search mode":
        if context.own_rule:
            return _own_rule(context.own_rule)
        if not trial.profile.search_modes:
            return "since 0.6.3", "ZeroClaw reads the search mode from 0.6.3 on."
    if name == "threshold" and _lists_recent(trial):
        return _NO_SCORES
    if name == "session" and not context.has_sessions:
        return "no sessions", "This store has no sessions."
    if name in _OF_RERANK:
        return _idle_rerank(name, trial)
    if name == "decay on day" and trial.reranks:
        return None
    if name == "decay on day":
        is_channel = trial.request.rule == "channel" or trial.profile.one_injection_rule
        if not (trial.profile.decays_channel if is_channel else trial.profile.decays_cli):
            where = "in its channels" if is_channel else "on the command line"
            return "no decay", f"ZeroClaw {trial.profile.version} applies no decay {where}."
    return None


def _idle_rerank(name: Name, trial: Trial) -> tuple[str, str] | None:
    rerank = trial.settings.rerank
    if not trial.profile.reranks:
        return "since 0.8.4", "ZeroClaw reranks injected memories from 0.8.4 on."
    if name != "rerank" and not rerank.enabled:
        return "off", "The rerank stage is switched off."
    if name in ("mmr lambda", "mmr from") and rerank.strategy != "mmr":
        return "no mmr", "Only the strategy mmr reorders."
    return None


def complaint_sentences(memory: Memory, tried: TrialComparison, context: TrialContext) -> tuple[str, ...]:
    """Which settings cannot work with these values; weights without effect say so on their own line."""
    idle = idle_because("vector weight", tried, context) is not None
    about: tuple[ComplaintAbout, ...] = (
        ("threshold", "mode", "rerank") if idle else ("weights", "threshold", "mode", "rerank")
    )
    has_stages = context.own_rule is None
    return complaints(
        tried.now,
        has_vectors=context.has_vectors,
        about=about,
        has_stages=has_stages,
        generation=memory.about.generation,
    )


def command_words(library: Library, tried: TrialComparison) -> str:
    """The command that recalls like the trial."""
    request = tried.now.request
    words = ["zeroclaw", "memory", "recall"]
    words += [f"--limit={request.limit}"] if request.limit != request.turn_limit else []
    directory = library.config.install.config_dir
    has_config = library.config.install.config_file is not None
    words += [f"--config-dir={directory}" if has_config else f"--location={library.memory.about.location}"]
    words += [f"--profile={tried.now.profile.version}"]
    words += [f"--{one.option}={one.option_words(tried)}" for one in tried.changed if one.option]
    words += [f"--as-of={request.as_of}"] if tried.days else []
    words += [f"--session={session}" for session in request.scopes if session is not None]
    words += [f"--namespace={request.namespace}"] if request.namespace is not None else []
    words += [f"--agent={agent}" for agent in request.agents or ()]
    words += [f"--rule={request.rule}"] if request.rule != "cli" else []
    return shlex.join([*words, "--", request.query])


def _idle_weights(tried: TrialComparison, context: TrialContext) -> tuple[str, str] | None:
    trial = tried.now
    if context.own_rule:
        return _own_rule(context.own_rule)
    if _lists_recent(trial):
        return _NO_SCORES
    if not context.has_vectors:
        why = f" {context.why_no_vectors}" if context.why_no_vectors else ""
        return "no vectors", f"Without vectors there are only keyword scores, so weights have no effect.{why}"
    if trial.profile.search_modes and trial.settings.search_mode != "hybrid":
        mode = trial.settings.search_mode
        return f"mode {mode}", f"The search mode {mode} uses only one kind of score, so weights have no effect."
    return None


def _lists_recent(trial: Trial) -> bool:
    """A message is still to come where there is none."""
    query = trial.request.query
    return bool(query.strip()) and lists_recent(query, trial.profile)


def _own_rule(name: str) -> tuple[str, str]:
    return "own rule", f"The backend {name} uses its own ranking."


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One setting: its name, its value, what it was (None: it still is), and in a few words why it does nothing."""

    name: str
    now: str
    before: str | None = None
    idle: str | None = None


class TrialSettings(Widget, can_focus=True):
    """Names and values, aligned; the chosen one carries ‹ › that can be clicked."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TrialSettings { width: 1fr; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "choose(1)", "Next", id="trial.next", show=False, tooltip="The next setting"),
        Binding("up,k", "choose(-1)", "Before", id="trial.before", show=False, tooltip="The setting before"),
    ]

    cursor: reactive[int] = reactive(0)
    """Which setting is chosen, from 0."""

    class Chosen(Message):
        """Another setting is chosen."""

    @dataclass
    class Stepped(Message):
        """One of the arrows was clicked; `way` is 1 for more and -1 for less."""

        way: int

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[SettingLine] = ()

    def show(self, lines: Sequence[SettingLine]) -> None:
        """Show these settings."""
        is_other_height = len(lines) != len(self._lines)
        self._lines = lines
        self.refresh(layout=is_other_height)

    def validate_cursor(self, at: int) -> int:
        """From the last to the first and back."""
        return at % max(1, len(self._lines))

    def watch_cursor(self) -> None:
        self.post_message(self.Chosen())

    def action_choose(self, way: int) -> None:
        self.cursor += way

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._rows_at(width)

    def on_click(self, event: events.Click) -> None:
        """Choose a setting; the arrows of the chosen one change it."""
        place = event.get_content_offset(self)
        if place is None:
            return
        event.stop()
        self.focus()
        column, cell = divmod(place.x, max(1, self._width + _GAP))
        row = place.y + self._first
        at = column * self._rows + row
        if not (row < self._rows and at < len(self._lines)):
            return
        arrow = cell - (self._width - _ARROWS)
        if at == self.cursor and arrow >= 0 and self._has_arrows(at):
            self.post_message(self.Stepped(-1 if arrow < _ARROWS - 2 else 1))
        self.cursor = at

    def render_line(self, y: int) -> Strip:
        """One line: a setting, or two of them side by side."""
        ground = Style(bgcolor=self.rich_style.bgcolor)
        plain = RowStyles.of(self.app, ground, "plain")
        pieces: Pieces = []
        row = y + self._first
        for at in range(row, len(self._lines), self._rows) if row < self._rows else ():
            if pieces:
                pieces.append(Segment(" " * _GAP, plain.blank))
            state: RowState = "plain" if at != self.cursor else "cursor" if self.has_focus else "cursor-blurred"
            pieces += self._pieces(at, RowStyles.of(self.app, ground, state))
        return Strip(pieces).adjust_cell_length(self.size.width, plain.blank)

    def _pieces(self, at: int, styles: RowStyles) -> Pieces:
        line = self._lines[at]
        names = max(cell_len(one.name) for one in self._lines)
        room = self._width - 1 - names - 2 - _ARROWS
        pieces = [
            Segment(MARK if at == self.cursor else " ", styles.mark),
            Segment(fit(line.name, names) + "  ", styles.faint if line.idle else styles.muted),
            *_value_pieces(line, room, styles),
        ]
        arrows = f" {LESS} {MORE}" if self._has_arrows(at) else ""
        pieces.append(Segment(arrows.ljust(_ARROWS), styles.final))
        return pieces

    def _has_arrows(self, at: int) -> bool:
        return at == self.cursor and self._lines[at].idle is None

    @property
    def _rows(self) -> int:
        return self._rows_at(self.size.width)

    def _rows_at(self, width: int) -> int:
        return -(-len(self._lines) // 2) if width >= _COLUMNS_FROM else len(self._lines)

    @property
    def _first(self) -> int:
        """The line on top: where not all have room, the chosen one stays in sight."""
        hidden = max(0, self._rows - self.size.height)
        return min(hidden, max(0, self.cursor % max(1, self._rows) - self.size.height // 2))

    @property
    def _width(self) -> int:
        """The cells of one setting."""
        return (self.size.width - _GAP) // 2 if self.size.width >= _COLUMNS_FROM else self.size.width


def _value_pieces(line: SettingLine, room: int, styles: RowStyles) -> Pieces:
    """What it was, where there is room for it, and is, padded to the room."""
    now = one_line(line.now)
    if line.before is not None:
        lead = f"{one_line(line.before)} → "
        if cell_len(lead) + cell_len(now) > room:
            lead = "→ "
        shown = fit(now, room - cell_len(lead))
        return [
            Segment(lead, styles.faint if line.idle else styles.muted),
            Segment(shown, styles.faint if line.idle else styles.final),
        ]
    if line.idle is None:
        return [Segment(fit(now, room), styles.text)]
    return [Segment(fit(f"{now:<{_SHORT_VALUE}}  {line.idle}", room), styles.faint)]


@dataclass(slots=True)
class Inquiry:
    """One message, one memory, one scoring, and the modified settings: the same in every tab.

    `entry` is None until a memory is chosen. `number` counts up whenever the store may have another answer.
    """

    library: Library
    entry: MemoryEntry | None
    request: RecallRequest
    clock: Callable[[], datetime]
    tried: TrialComparison = field(init=False)
    number: int = 0

    def __post_init__(self) -> None:
        self.request = replace(self.request, as_of=self.clock().isoformat())
        before = trial_of(self.library, self.request)
        limit = turn_limit(self.library.config, before.profile, "library", self.request.agents)
        self.tried = TrialComparison.nothing(before, {"library": limit} if limit != RECALL_LIMIT else {})

    @property
    def trial(self) -> Trial:
        """The recall with the modified settings."""
        return self.tried.now

    @property
    def has_message(self) -> bool:
        """Whether there is anything to ask about."""
        return bool(self.request.query.strip())

    def ask_about(self, query: str) -> None:
        """Another message; the modified settings stay."""
        self.request = replace(self.request, query=query)
        self.renew()

    def follow_rule(self, rule: Rule) -> None:
        """Another rule of injection, instead of one that was tried."""
        self.request = replace(self.request, rule=rule)
        self.drop("injection rule")
        self.tried = self.tried.over(trial_of(self.library, self.request))

    def renew(self) -> None:
        """Take scoring and moment as they are now; the modified settings stay."""
        self.request = replace(self.request, as_of=self.clock().isoformat())
        self.tried = self.tried.over(trial_of(self.library, self.request))

    def reload(self) -> None:
        """The same of a store that may have changed."""
        self.number += 1
        self.renew()

    def drop(self, name: Name) -> None:
        """Try that setting no more."""
        self.tried = next(one for one in SETTINGS if one.name == name).reset(self.tried)


class Pane(Container):
    """One tab: what it asks the store, and how it shows the answer. It is hidden while another one is shown."""

    tab: ClassVar[Tab]
    heading: ClassVar[str]
    """What the help calls its keys."""
    no_entry: ClassVar[EmptyWords | None] = None
    """What to say without a memory; None where none is needed."""
    no_message: ClassVar[EmptyWords | None] = None
    """What to say without a message; None where none is needed."""
    failed_words: ClassVar[EmptyWords]
    """The words shown when the first recall failed."""

    class Changed(Message):
        """The modified settings or their results have changed."""

    class MoreWanted(Message):
        """The modified settings need more from the store than was read."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(id=self.tab)
        self.inquiry = inquiry
        self.answered: Any = None
        """The question that was answered last."""
        self.notes: tuple[str, ...] = ()
        """What went wrong on the way of the answer."""

    @property
    def missing(self) -> EmptyWords | None:
        """What has to be chosen or typed before anything can be asked; None when nothing has."""
        if self.no_entry is not None and self.inquiry.entry is None:
            return self.no_entry
        return None if self.inquiry.has_message else self.no_message

    @property
    def question(self) -> object:
        """What the answer depends on; None where nothing can be asked."""
        raise NotImplementedError

    @property
    def is_answered(self) -> bool:
        """Whether what is shown answers what would be asked now."""
        return self.answered is not None and self.answered == self.question

    async def ask(self) -> Callable[[], None]:
        """Ask the store; gives what shows the answer. Raises InspectorError kinds, SearchInterrupted."""
        raise NotImplementedError

    def forget(self) -> None:
        """What was answered holds no more."""
        raise NotImplementedError

    @property
    def has_answer(self) -> bool:
        """Whether an answer is on the screen, to what was asked now or before."""
        raise NotImplementedError

    @property
    def reader(self) -> Widget | None:
        """What takes the focus when the message is typed; None while there is nothing to read."""
        raise NotImplementedError

    @property
    def copied(self) -> str | None:
        """What is copied; None where there is nothing."""
        raise NotImplementedError

    @property
    def chosen(self) -> MemoryEntry | None:
        """The memory under the cursor, for the other tabs."""
        return None

    def paint(self) -> None:
        """Show what is known without asking: titles, and what depends on the width."""

    def step_out(self) -> bool:
        """One step out within the pane; False when there is none."""
        return False

    def other_pane(self) -> None:
        """To the other part of the pane, where it has two."""

    def is_in(self, widget: Widget) -> bool:
        """Whether keys go to that widget; it learns of that itself only later than the next key comes."""
        return self.screen.focused is widget

    def show_empty(self, words: EmptyWords) -> None:
        """Say why there is nothing to read."""
        focused = self.screen.focused
        if focused is not None and focused in self.query("*"):
            # Hidden with the focus on it, what is read would hand that on to the line, and never get it back.
            self.screen.set_focus(None)
        self.add_class("-empty")
        self.query_one(Empty).show(*words)
