"""`zeroclaw onboard`: asks in a terminal, else answers by flags.

The document of `--json` is that of `plan_document` with "dry_run". A test that finds something wrong is in it too,
with "written" false and "error"; of every other failure "error" is all of the document. Nothing is asked, and so
nothing but the document written, beside any option that answers or wants no questions.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from zeroclaw_tui.cli.asking import NOTHING_DONE
from zeroclaw_tui.cli.onboard_options import check_fits, is_quiet
from zeroclaw_tui.cli.output import document, error_as_json, note, styled_by_name, write_lines
from zeroclaw_tui.cli.restoring import restore
from zeroclaw_tui.config.locations import home_folder
from zeroclaw_tui.memory.errors import DONE, InspectorError, WrongUse
from zeroclaw_tui.onboard.answers import gather
from zeroclaw_tui.onboard.plan import Plan, apply_plan, make_plan
from zeroclaw_tui.onboard.probes import Finding, run_probe, subjects
from zeroclaw_tui.onboard.review import (
    SUBJECTS,
    after_lines,
    export_lines,
    finding_sentence,
    plan_document,
    review_lines,
)
from zeroclaw_tui.onboard.situation import Candidate, Situation, candidates, situation_at

_HOW_WITHOUT_ASKING = "Without anybody to ask: --defaults, --set KEY=VALUE or --answers FILE."


class TestFailed(InspectorError):
    """A test of what is answered found something wrong, so that nothing is written."""

    title = "A test failed"


def onboard(given: argparse.Namespace) -> int:
    """Restore, ask or answer; the exit code. Raises InspectorError kinds."""
    check_fits(given)
    if given.restore is not None:
        return restore(_the_candidate(given), given)
    if _asks(given):
        return _ask(given)
    if given.interactive:
        raise WrongUse("--interactive asks, and there is no terminal to ask in.", hint=_HOW_WITHOUT_ASKING)
    return _answer(given)


def _asks(given: argparse.Namespace) -> bool:
    in_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return in_terminal and (given.interactive or not is_quiet(given))


def _ask(given: argparse.Namespace) -> int:
    from zeroclaw_tui.onboard.prompts import terminal_asker
    from zeroclaw_tui.onboard.wizard import Request, run_wizard

    request = Request(
        config_dir=given.config_dir,
        workspace=given.workspace,
        memory=given.memory,
        assignments=tuple(given.set),
        answers_file=given.answers,
        tests=not given.no_test,
        dry_run=given.dry_run,
    )
    try:
        ended = run_wizard(terminal_asker(), request, os.environ)
    except EOFError as error:
        raise WrongUse("The input ended while a question was open.", hint=_HOW_WITHOUT_ASKING) from error
    if ended.real:
        from zeroclaw_tui.cli.pass_through import hand_over

        if ended.config_dir is not None:
            os.environ["ZEROCLAW_CONFIG_DIR"] = str(ended.config_dir)
        hand_over(ended.real)
    return ended.exit_code if ended.inspect is None else _inspect(ended.inspect)


def _inspect(config_dir: Path) -> int:
    from zeroclaw_tui.config.install import OpenOptions
    from zeroclaw_tui.tui.app import run_inspector

    return run_inspector(OpenOptions(config_dir=config_dir))


def _answer(given: argparse.Namespace) -> int:
    situation = asyncio.run(situation_at(_the_candidate(given), os.environ))
    answers = gather(situation, memory=given.memory, assignments=tuple(given.set), answers_file=given.answers)
    plan = make_plan(answers)
    # What stops the command is told alone: a warning about the same key would say it twice.
    _tell_warnings(situation)
    findings = [] if given.no_test or plan.is_empty else asyncio.run(_tests(plan))
    bad = [finding for finding in findings if finding.verdict == "bad"]
    writes = not (given.dry_run or bad or plan.is_empty)
    backup = apply_plan(plan) if writes else None
    failed = _failed(bad, dry_run=given.dry_run) if bad else None
    if given.json:
        told = {**plan_document(plan, findings, written=writes, backup=backup), "dry_run": given.dry_run}
        if failed is not None:
            told["error"] = error_as_json(failed.title, failed.message, failed.hint, failed.exit_code)
        document(told)
        if failed is not None:
            note(f"zeroclaw: {failed.message}\n{failed.hint}")
            return failed.exit_code
    else:
        _tell(plan, findings, written=writes, backup=backup)
        if given.dry_run and not bad:
            note(NOTHING_DONE)
    if failed is not None:
        raise failed
    return DONE


def _tell(plan: Plan, findings: Sequence[Finding], *, written: bool, backup: str | None) -> None:
    lines = review_lines(plan, findings)
    lines += after_lines(plan, backup) if written else export_lines(plan)
    write_lines(styled_by_name(lines))


async def _tests(plan: Plan) -> list[Finding]:
    changed = {change.name for change in plan.changes}
    wanted = subjects(plan.answers, changed)
    if wanted and sys.stderr.isatty():
        note(f"zeroclaw: Testing {', '.join(SUBJECTS.get(subject, subject) for subject in wanted)} …")
    return [*await asyncio.gather(*(run_probe(subject, plan.answers) for subject in wanted))]


def _failed(bad: Sequence[Finding], *, dry_run: bool) -> TestFailed:
    first = bad[0]
    message = f"{finding_sentence(first).rstrip('.')}. Nothing was written."
    ways = [first.hint] if first.hint else []
    ways += [f"--set {name}={value} puts that right." for name, value in first.corrections.items()]
    if not dry_run:
        ways.append("--no-test writes all the same.")
    error = TestFailed(message, hint=" ".join(ways))
    error.exit_code = first.exit_code
    return error


def _the_candidate(given: argparse.Namespace) -> Candidate:
    """The place that wins; any other one that could be meant is named on stderr."""
    home = home_folder(os.environ, given.config_dir)
    taken, *others = candidates(os.environ, home, config_dir=given.config_dir, workspace=given.workspace)
    if others:
        also = ", ".join(f"{other.install.config_dir} ({other.rule})" for other in others)
        note(
            f"zeroclaw: This is about {taken.install.config_dir} ({taken.rule}). Could be meant as well: {also}."
            " --config-dir picks another."
        )
    return taken


def _tell_warnings(situation: Situation) -> None:
    for sentence in situation.warnings:
        note(f"zeroclaw: {sentence}")
