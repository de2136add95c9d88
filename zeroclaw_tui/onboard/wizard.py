"""The whole wizard, for a person at a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.backends.factory import keeps_nothing
from zeroclaw_tui.config.locations import command_at, config_dir_option, home_folder, read_config
from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.memory.errors import DONE, Refused
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.onboard.answers import Answers, gather
from zeroclaw_tui.onboard.flow import FlowResult, walk
from zeroclaw_tui.onboard.plan import Plan, apply_plan
from zeroclaw_tui.onboard.prompts import Asker, Line
from zeroclaw_tui.onboard.question import Choice
from zeroclaw_tui.onboard.review import after_lines, hand_off_text, real_arguments, shown_path, warning_line
from zeroclaw_tui.onboard.situation import Candidate, Situation, candidates, situation_at
from zeroclaw_tui.scoring.profiles import profile_for

_EXTENTS = (
    Choice("basic", "Basics", "up to five steps; all other settings stay as they are"),
    Choice("all", "Everything", "every memory setting, one by one"),
)
_WELCOME: Line = [("dim", "Nothing is written until you confirm at the end. Press Ctrl-C to cancel.")]
_LABEL_CELLS = 11


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command line."""

    config_dir: Path | None = None
    workspace: Path | None = None
    memory: str | None = None
    assignments: tuple[str, ...] = ()
    answers_file: Path | None = None
    tests: bool = True
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class WizardResult:
    """The exit code, and what the person wants now: the config dir to inspect, or the real zeroclaw's arguments."""

    exit_code: int
    inspect: Path | None = None
    real: tuple[str, ...] = ()
    config_dir: Path | None = None
    """The config dir to name, where ZeroClaw would not find it by itself."""


def run_wizard(asker: Asker, request: Request, environ: Mapping[str, str]) -> WizardResult:
    """Candidates (two: asks), situation, what was found, the walk, writing, and what comes next.

    Ctrl-C anywhere says that nothing was changed, and raises KeyboardInterrupt on; so does an input that ended, with
    EOFError.
    """
    wizard = _Wizard(asker, request, environ)
    try:
        return wizard.run()
    except (KeyboardInterrupt, EOFError):
        wizard.say_interrupted()
        raise


class _Wizard:
    def __init__(self, asker: Asker, request: Request, environ: Mapping[str, str]) -> None:
        self._asker = asker
        self._request = request
        self._environ = environ
        self._situation: Situation | None = None
        self._plan: Plan | None = None
        self._written = ""

    def run(self) -> WizardResult:
        self._asker.say([_WELCOME])
        candidate = self._candidate()
        request = self._request
        answers = gather(
            self._look(candidate),
            memory=request.memory,
            assignments=request.assignments,
            answers_file=request.answers_file,
        )
        self._asker.say(found_lines(answers))
        extent = self._asker.choose(
            "Which settings do you want to configure?", _EXTENTS, preset=_EXTENTS[0].value, back=False
        )
        answers = replace(answers, is_basic=extent == _EXTENTS[0].value)
        at_review = False
        while True:
            walked = walk(self._asker, answers, tests=request.tests, at_review=at_review, dry_run=request.dry_run)
            plan = walked.plan
            if walked.ending == "leave" or plan is None or request.dry_run:
                return self._left(walked)
            if self._write(plan):
                return self._after(plan)
            self._asker.say([[("warning", "Nothing was written: config.toml changed while you were answering.")]])
            answers, at_review = replace(walked.answers, situation=self._look(candidate)), True
            self._asker.say(found_lines(answers))
            choices = (
                Choice("review", "Review your answers for the new file"),
                Choice("leave", "Cancel without saving"),
            )
            if self._asker.choose("What now?", choices, preset="review", back=False) == "leave":
                return self._left(walked)

    def say_interrupted(self) -> None:
        """Whether Ctrl-C came before or after writing."""
        situation = self._situation
        if situation is not None and self._is_written():
            self._asker.say([[], [("", f"Stopped. {self._written or f'Saved {shown_path(situation)}.'}")]])
            return
        self._asker.say([[], [("", "Stopped. Nothing was changed.")]])

    def _is_written(self) -> bool:
        """True once the file is what was planned, also when stopped in the middle of saving."""
        if self._written or self._plan is None:
            return bool(self._written)
        return read_config(self._plan.answers.situation.config_file) == self._plan.after.to_bytes()

    def _candidate(self) -> Candidate:
        home = home_folder(self._environ, self._request.config_dir)
        found = candidates(self._environ, home, config_dir=self._request.config_dir, workspace=self._request.workspace)
        if len(found) == 1:
            return found[0]
        self._asker.say([[("", "Found several ZeroClaw installs. ZeroClaw uses the first one.")]])
        choices = [
            Choice(str(number), str(install.config_file), "; ".join((install.rule, *facts)))
            for number, (install, facts) in enumerate(found)
        ]
        return found[int(str(self._asker.choose("Which install?", choices, preset="0", back=False)))]

    def _look(self, candidate: Candidate) -> Situation:
        situation = self._asker.working(
            "Reading the config and the stores …", lambda: asyncio.run(situation_at(candidate, self._environ))
        )
        self._situation = situation
        return situation

    def _write(self, plan: Plan) -> bool:
        """Write it, and say what comes after; False when the file is no longer what the plan was made for."""
        situation = plan.answers.situation
        self._plan = plan
        try:
            backup = apply_plan(plan)
        except Refused:
            if read_config(situation.config_file) == situation.raw:
                raise
            self._plan = None
            return False
        back = command_at(situation.install, situation.environ, "zeroclaw onboard", f"--restore {backup}")
        restore = f" To restore the previous version: `{back}`" if backup else ""
        self._written = f"Saved {shown_path(situation)}.{restore}"
        self._asker.say(after_lines(plan, backup))
        return True

    def _left(self, walked: FlowResult) -> WizardResult:
        is_empty = walked.plan is not None and walked.plan.is_empty
        sentence = "Nothing to change." if is_empty else "Nothing was changed."
        self._asker.say([[("", "Dry run. Nothing was written." if self._request.dry_run else sentence)]])
        return WizardResult(DONE)

    def _after(self, plan: Plan) -> WizardResult:
        """Offer ZeroClaw's own next step where it is installed, and the inspector; enter alone ends here."""
        situation = plan.answers.situation
        choices = [Choice("nothing", "Nothing now")]
        if situation.binary is not None:
            command = f"zeroclaw --real {' '.join(real_arguments(situation))}"
            choices.append(Choice("real", "Set up providers and channels", command))
        if not keeps_nothing(plan.answers.backend()):
            choices.append(Choice("inspect", "Open the inspector"))
        if len(choices) == 1:
            return WizardResult(DONE)
        chosen = self._asker.choose("What next?", choices, preset="nothing", back=False)
        if chosen == "real":
            is_named = bool(config_dir_option(situation.install, situation.environ))
            return WizardResult(
                DONE, real=real_arguments(situation), config_dir=situation.config_dir if is_named else None
            )
        return WizardResult(DONE, situation.config_dir if chosen == "inspect" else None)


def found_lines(answers: Answers) -> list[Line]:
    """Which config.toml, for which ZeroClaw, chosen by which rule; which memory is there; warnings."""
    situation, rule = answers.situation, answers.situation.install.rule
    facts = [_version_text(situation)]
    facts += [] if rule.startswith("the default") else [f"chosen by {one_line(rule)}"]
    new = " (new)" if situation.is_new else ""
    lines: list[Line] = [
        [*_label("Config"), ("", f"{shown_path(situation)}{new}"), ("dim", f"  {', '.join(facts)}")],
        [*_label("Memory"), *_memory(answers)],
    ]
    lines += [[("", " " * _LABEL_CELLS), ("", one_line(fact))] for fact in situation.found]
    lines += [warning_line(warning) for warning in situation.warnings]
    if situation.binary is not None:
        lines.append([("dim", hand_off_text(situation))])
    return lines


def _memory(answers: Answers) -> Line:
    """The backend in use, and the one that was chosen before the first question."""
    situation, given = answers.situation, answers.given.get(BACKEND)
    source = one_line(f"from {given.origin}") if given else ""
    if situation.is_new:
        return [("", answers.backend()), ("dim", f"  {source or 'default'}")]
    after = f", then {answers.backend()} {source}" if answers.backend() != situation.backend else ""
    return [("", one_line(situation.backend)), ("dim", f"  in use{after}")]


def _version_text(situation: Situation) -> str:
    target = situation.target
    if target.version:
        newer = profile_for(target.version)
        if newer.newer is not None:
            return f"ZeroClaw {target.version}, which is newer than this program knows, read as {newer.version}"
        return f"ZeroClaw {target.version}"
    if situation.has_no_key:
        return f"for ZeroClaw {target.reading_version} (not on PATH)"
    return f"ZeroClaw {'0.8.0 or later' if target.is_modern else '0.7.5 or earlier'}, judged by its files"


def _label(text: str) -> Line:
    return [("dim", text.ljust(_LABEL_CELLS))]
