"""What the what-if screen says: settings as lines, why some do nothing here, what changes, what is not written."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from zeroclaw_tui.curation.profile_choice import profile_remark
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.scoring.evidence import Evidence, StageEvidence
from zeroclaw_tui.scoring.keywords import lists_recent
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.scoring.what_if import Comparison, complaints
from zeroclaw_tui.scoring.what_if import Setting as ComplaintAbout
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.looks import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.screens.what_if_settings import SETTINGS, Name, Setting, Tried
from zeroclaw_tui.tui.widgets.empty import KeyHint
from zeroclaw_tui.tui.widgets.trial_settings import SettingLine

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library

CURSOR = "▏"
_OF_RERANK: tuple[Name, ...] = (
    "rerank", "rerank strategy", "mmr lambda", "mmr from", "importance", "recency", "candidates",
)  # fmt: skip
_NO_SCORES = ("no scores", "This message lists the newest memories, and they have no score.")
NOTHING_WRITTEN = "only a look: W writes it"


@dataclass(frozen=True, slots=True)
class Standing:
    """What of a store decides which settings do something. `own_rule` is the name of a backend that ranks by one."""

    own_rule: str | None = None
    has_vectors: bool = True
    why_no_vectors: str | None = None
    has_sessions: bool = True

    @classmethod
    def of(cls, library: Library, evidence: Evidence | None) -> Standing:
        """As the evidence has it; before there is any, as the store says."""
        why = library.why_no_vectors
        sessions = library.memory.capabilities.sessions
        if evidence is None:
            return cls(None, why is None, why, sessions)
        if not isinstance(evidence, StageEvidence):
            return cls(library.memory.name, why is None, why, sessions)
        return cls(None, evidence.vector_live, why, sessions and evidence.has_sessions)


def idle_because(name: Name, tried: Tried, standing: Standing) -> tuple[str, str] | None:
    """Why a setting does nothing in this trial, in a few words and in a sentence; None when it does something."""
    trial = tried.now
    if name in ("vector weight", "keyword weight"):
        return _idle_weights(tried, standing)
    if name == "search mode":
        if standing.own_rule:
            return _own_rule(standing.own_rule)
        if not trial.profile.search_modes:
            return "since 0.6.3", "ZeroClaw reads the search mode from 0.6.3 on."
    if name == "threshold" and _lists_recent(trial):
        return _NO_SCORES
    if name == "session" and not standing.has_sessions:
        return "no sessions", "This store does not tell sessions apart."
    if name in _OF_RERANK:
        return _idle_rerank(name, trial)
    if name == "decay on day" and trial.reranks:
        return None
    if name == "decay on day":
        is_channel = trial.request.rule == "channel" or trial.profile.one_injection_rule
        if not (trial.profile.decays_channel if is_channel else trial.profile.decays_cli):
            where = "in its channels" if is_channel else "on the command line"
            return "no decay", f"ZeroClaw {trial.profile.version} lets no score decay {where}."
    return None


def _idle_rerank(name: Name, trial: Trial) -> tuple[str, str] | None:
    rerank = trial.settings.rerank
    if not trial.profile.reranks:
        return "since 0.8.4", "ZeroClaw reranks what is put before a message from 0.8.4 on."
    if name != "rerank" and not rerank.enabled:
        return "off", "The rerank stage is switched off."
    if name in ("mmr lambda", "mmr from") and rerank.strategy != "mmr":
        return "no mmr", "Only the strategy mmr reorders."
    return None


def setting_lines(tried: Tried, standing: Standing, chosen: Setting, typed: str | None) -> list[SettingLine]:
    """Every setting as it stands; what is being typed stands in the place of the chosen one's value."""
    lines = []
    for setting in SETTINGS:
        idle = idle_because(setting.name, tried, standing)
        now = setting.words(tried)
        is_typed = typed is not None and setting is chosen
        before = setting.words(Tried.nothing(tried.before)) if is_typed or setting.is_changed(tried) else None
        lines.append(
            SettingLine(setting.name, f"{typed}{CURSOR}" if is_typed else now, before, idle[0] if idle else None)
        )
    return lines


def about_content(setting: Setting, tried: Tried, standing: Standing) -> Content:
    """What the chosen setting does, or why it does nothing here."""
    idle = idle_because(setting.name, tried, standing)
    return Content.styled(_clean(idle[1] if idle else setting.about), MUTED)


def complaint_sentences(memory: Memory, tried: Tried, standing: Standing) -> tuple[str, ...]:
    """Which settings cannot work as they stand; weights that do nothing here are told where they stand."""
    idle = idle_because("vector weight", tried, standing) is not None
    about: tuple[ComplaintAbout, ...] = (
        ("threshold", "mode", "rerank") if idle else ("weights", "threshold", "mode", "rerank")
    )
    has_stages = standing.own_rule is None
    found = complaints(tried.now, has_vectors=standing.has_vectors, about=about, has_stages=has_stages)
    remark = profile_remark(tried.now.profile, memory)
    return found if remark is None else (*found, remark)


def complaint_content(sentences: Sequence[str]) -> Content:
    """A line for each sentence."""
    return Content.assemble(
        *((f"{'' if not at else chr(10)}▲ {_clean(one)}", WARNING) for at, one in enumerate(sentences))
    )


def headline_content(comparison: Comparison | None, tried: Tried, rows: int | None) -> Content:
    """What the trial comes to, and among how many memories."""
    among = "" if rows is None else f" of {count_text(rows)} memories"
    if comparison is None:
        return Content.assemble(("What would be recalled with other settings", STRONG))
    if not tried.changed:
        count = comparison.after.injected
        recalled = len(comparison.after.results)
        return Content.assemble(
            (f"injected {count}", STRONG), (f" · {recalled} recalled{among} · nothing is changed yet", MUTED)
        )
    return Content.assemble((comparison.words, STRONG), (f" · {len(comparison.after.results)} recalled{among}", MUTED))


def why_nothing(tried: Tried, after: RecallResult) -> tuple[str, str, Sequence[KeyHint]]:
    """What stands where the list would be: nothing is recalled, neither as it is nor as it is tried."""
    sentence = after.notes[0] if after.notes else "No setting finds what no stage of the search finds."
    session = tried.now.request.session_id
    if session is not None:
        sentence = "Only memories of one session are asked for: try the session any."
    back: Sequence[KeyHint] = (("z", "settings as they were"),) if tried.changed else ()
    return "Nothing is recalled for this message.", sentence, (("/", "another message"), *back)


def command_words(library: Library, tried: Tried) -> str:
    """The command that recalls like the trial."""
    request, settings = tried.now.request, tried.now.settings
    changed = {setting.name for setting in tried.changed}
    words = ["zeroclaw", "memory", "recall"]
    words += [f"--limit={request.limit}"] if request.limit != request.turn_limit else []
    directory = library.config.install.config_dir
    has_config = library.config.install.config_file is not None
    words += [f"--config-dir={directory}" if has_config else f"--location={library.memory.location}"]
    words += [f"--profile={tried.now.profile.version}"]
    for name, option, value in (
        ("vector weight", "vector-weight", settings.vector_weight),
        ("keyword weight", "keyword-weight", settings.keyword_weight),
        ("threshold", "threshold", settings.threshold),
        ("search mode", "search-mode", settings.search_mode),
        ("decay on day", "day", tried.days),
        ("rerank", "rerank", "on" if settings.rerank.enabled else "off"),
        ("rerank strategy", "rerank-strategy", settings.rerank.strategy),
        ("mmr lambda", "mmr-lambda", settings.rerank.mmr_lambda),
        ("mmr from", "rerank-threshold", settings.rerank.threshold),
        ("importance", "importance-weight", settings.rerank.importance_weight),
        ("recency", "recency-weight", settings.rerank.recency_weight),
        ("candidates", "candidate-multiplier", settings.rerank.candidate_multiplier),
    ):
        words += [f"--{option}={value}"] if name in changed else []
    words += [f"--session={session}" for session in request.scopes if session is not None]
    words += [f"--namespace={request.namespace}"] if request.namespace is not None else []
    words += [f"--agent={agent}" for agent in request.agents or ()]
    words += [f"--rule={request.rule}"] if request.rule != "cli" else []
    return shlex.join([*words, "--", request.query])


def _idle_weights(tried: Tried, standing: Standing) -> tuple[str, str] | None:
    trial = tried.now
    if standing.own_rule:
        return _own_rule(standing.own_rule)
    if _lists_recent(trial):
        return _NO_SCORES
    if not standing.has_vectors:
        why = f" {standing.why_no_vectors}" if standing.why_no_vectors else ""
        return "no vectors", f"Without vectors there are only words, and nothing to weigh them against.{why}"
    if trial.profile.search_modes and trial.settings.search_mode != "hybrid":
        mode = trial.settings.search_mode
        return f"mode {mode}", f"The search mode {mode} goes by one kind of score alone, and nothing is weighed."
    return None


def _lists_recent(trial: Trial) -> bool:
    """A message is still to come where there is none."""
    query = trial.request.query
    return bool(query.strip()) and lists_recent(query, trial.profile)


def _own_rule(name: str) -> tuple[str, str]:
    return "own rule", f"The backend {name} ranks by a rule of its own."


def _clean(text: str) -> str:
    return display_text(mask_secrets(text))
