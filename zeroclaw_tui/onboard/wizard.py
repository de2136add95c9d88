"""The whole interactive wizard."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.config.locations import Install, config_dir_option, home_folder
from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.config.toml import read_config
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.onboard.answers import Answers, gather
from zeroclaw_tui.onboard.flow import walk
from zeroclaw_tui.onboard.plan import Plan, apply_plan
from zeroclaw_tui.onboard.prompts import Asker, Line
from zeroclaw_tui.onboard.question import Choice
from zeroclaw_tui.onboard.review import after_lines, hand_off_text, real_arguments, shown_path, warning_line
from zeroclaw_tui.onboard.situation import Situation, candidates, situation_at

_EXTENTS = (
    Choice("basic", "Basics", "up to five steps; all other settings stay as they are"),
    Choice("all", "Everything", "every memory setting, one by one"),
)
_WELCOME: Line = [("dim", "Nothing is written until you confirm at the end. Press Ctrl-C to cancel.")]
_LABEL_CELLS = 11


@dataclass(frozen=True, slots=True)
class Request:
    """The command line options."""

    config_dir: Path | None = None
    workspace: Path | None = None
    memory: str | None = None
    assignments: tuple[str, ...] = ()
    answers_file: Path | None = None
    tests: bool = True
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class WizardResult:
    """The next step that the user chose: the config dir to inspect, the arguments for the real zeroclaw, or neither."""

    inspect: Path | None = None
    real: tuple[str, ...] = ()
    config_dir: Path | None = None
    """The config dir to pass, if ZeroClaw would not find it by default."""


def run_wizard(asker: Asker, request: Request, environ: Mapping[str, str]) -> WizardResult:
    """Choose the install, show what was found, ask the questions, write, and offer the next step.

    On Ctrl-C, say whether anything was changed and raise KeyboardInterrupt again; at the end of input, the same with
    EOFError.
    """
    plan = None
    try:
        install = _install(asker, request, environ)
        situation = asker.working(
            "Reading the config and the stores …", lambda: asyncio.run(situation_at(install, environ))
        )
        answers = gather(
            situation, memory=request.memory, assignments=request.assignments, answers_file=request.answers_file
        )
        asker.say(found_lines(answers))
        title = "Which settings do you want to configure?"
        extent = asker.choose(title, _EXTENTS, preset=_EXTENTS[0].value, back=False)
        answers = replace(answers, is_basic=extent == _EXTENTS[0].value)
        walked = walk(asker, answers, tests=request.tests, dry_run=request.dry_run)
        if not walked.is_to_write or walked.plan is None or request.dry_run:
            asker.say([[("", "Dry run. Nothing was written." if request.dry_run else "Nothing was changed.")]])
            return WizardResult()
        plan = walked.plan
        asker.say(after_lines(plan, apply_plan(plan)))
        return _after(asker, plan)
    except (KeyboardInterrupt, EOFError):
        is_written = plan is not None and read_config(plan.answers.situation.config_file) == plan.after.to_bytes()
        sentence = f"Saved {shown_path(plan.answers.situation)}." if plan and is_written else "Nothing was changed."
        asker.say([[], [("", f"Stopped. {sentence}")]])
        raise


def _install(asker: Asker, request: Request, environ: Mapping[str, str]) -> Install:
    asker.say([_WELCOME])
    home = home_folder(environ, request.config_dir)
    installs = candidates(environ, home, config_dir=request.config_dir, workspace=request.workspace)
    if len(installs) == 1:
        return installs[0]
    asker.say([[("", "Found several ZeroClaw installs. ZeroClaw uses the first one.")]])
    choices = [Choice(str(number), str(install.config_file), install.rule) for number, install in enumerate(installs)]
    return installs[int(str(asker.choose("Which install?", choices, preset="0", back=False)))]


def _after(asker: Asker, plan: Plan) -> WizardResult:
    """Offer ZeroClaw's own next step if it is installed, and the inspector; Enter alone ends the wizard."""
    situation = plan.answers.situation
    choices = [Choice("nothing", "Nothing now")]
    if situation.binary is not None:
        command = f"zeroclaw --real {' '.join(real_arguments(situation))}"
        choices.append(Choice("real", "Set up providers and channels", command))
    if not known_backend(plan.answers.backend()).keeps_nothing:
        choices.append(Choice("inspect", "Open the inspector"))
    chosen = asker.choose("What next?", choices, preset="nothing", back=False) if len(choices) > 1 else "nothing"
    if chosen == "real":
        is_named = bool(config_dir_option(situation.install, situation.environ))
        return WizardResult(real=real_arguments(situation), config_dir=situation.config_dir if is_named else None)
    return WizardResult(situation.config_dir if chosen == "inspect" else None)


def found_lines(answers: Answers) -> list[Line]:
    """Lines about the config.toml, its ZeroClaw version and rule, the existing stores, and warnings."""
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
    """The backend in use, and the one chosen before the first question."""
    situation, given = answers.situation, answers.given.get(BACKEND)
    in_use = "default" if situation.is_new else "in use"
    chosen = f", then {answers.backend()} from {one_line(given.origin)}" if given else ""
    return [("", one_line(situation.backend)), ("dim", f"  {in_use}{chosen}")]


def _version_text(situation: Situation) -> str:
    target = situation.target
    return f"ZeroClaw {target.version}" if target.version else f"for ZeroClaw {target.reading_version} (not on PATH)"


def _label(text: str) -> Line:
    return [("dim", text.ljust(_LABEL_CELLS))]
