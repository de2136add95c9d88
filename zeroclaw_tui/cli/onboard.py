"""`zeroclaw onboard`: the options, the run without questions, and `--restore`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli import output
from zeroclaw_tui.cli.options import Parser, parse_path, suggest
from zeroclaw_tui.cli.output import BOLD, Styled, note, styled_by_name
from zeroclaw_tui.cli.plans import NOTHING_DONE, check_can_ask, confirm
from zeroclaw_tui.memory.errors import DONE, REFUSED, InspectorError, NotFound, UsageError
from zeroclaw_tui.memory.text import cut, mask_secrets, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from zeroclaw_tui.config.locations import Install
    from zeroclaw_tui.config.save import Backup
    from zeroclaw_tui.onboard.plan import Plan
    from zeroclaw_tui.onboard.probes import Finding
    from zeroclaw_tui.onboard.prompts import Line as NamedLine

LIST_BACKUPS = ""
"""The value of `--restore` without a name: list the backups."""
_ZEROCLAW_OPTIONS = frozenset(
    {
        "--agent", "--api-key", "--cli", "--force", "--model", "--model-provider", "--provider", "--quick",
        "--reinit", "--tui",
    }
)  # fmt: skip
"""Options of `onboard` and `quickstart` in any ZeroClaw from 0.1.2 to 0.8.4 that this program does not have; options
that end with "-only" are also ZeroClaw's."""
_LONGEST_SHOWN = 40

ABOUT = """\
Set up the agent's memory in config.toml, by questions or by options. Only the
keys you choose change; everything else stays byte for byte. A dated backup is
made first."""
_EPILOG = """\
Each setting comes from the first source that has it: --memory and --set,
--answers, the current config.toml, the default. Without a terminal nothing is
asked.

Every other argument (--api-key, --provider, --channels-only, a section such
as channels) belongs to the real zeroclaw, which then runs the whole command,
as with `zeroclaw --real onboard ...`.

Exit codes: 0 done or nothing to change, 1 refused, 2 wrong use, a missing
answer or a broken config, 3 not reachable or not writable, 127 no real
zeroclaw to hand over to, 130 interrupted."""
LATEST = "latest"
_HOW_WITHOUT_ASKING = "Without a terminal use --defaults, --set KEY=VALUE or --answers FILE."


def onboard_parser() -> Parser:
    """The parser of `zeroclaw onboard`."""
    from zeroclaw_tui.config.schema import BACKENDS_WITH_DEFAULTS

    parser = Parser(prog="zeroclaw onboard", description=ABOUT, epilog=_EPILOG)
    parser.add_argument("--interactive", action="store_true", help="Ask, also together with other options")
    parser.add_argument("--defaults", action="store_true", help="Do not ask; use defaults for everything not given")
    parser.add_argument("--memory", metavar="BACKEND", help=", ".join(BACKENDS_WITH_DEFAULTS))
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="Set one key, spelled as in any ZeroClaw version (repeatable)",
    )
    parser.add_argument(
        "--answers", metavar="FILE", type=parse_path, help="Read settings from a TOML file shaped like config.toml"
    )
    parser.add_argument("--no-test", action="store_true", help="Write without testing the answers")
    parser.add_argument("--dry-run", action="store_true", help="Show the plan and exit")
    parser.add_argument(
        "--restore",
        metavar="NAME",
        nargs="?",
        const=LIST_BACKUPS,
        help="Restore a backup by name (or `latest`); without NAME, list backups",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON")
    parser.add_argument("--yes", action="store_true", help="Restore a backup without asking")
    parser.add_argument("--config-dir", metavar="DIR", type=parse_path, help="Directory that holds config.toml")
    parser.add_argument("--workspace", metavar="DIR", type=parse_path, help="ZeroClaw's workspace or data directory")
    return parser


def foreign_argument(parser: Parser, arguments: Sequence[str]) -> str | None:
    """The first argument of `zeroclaw onboard` that is not ours, without its value; None if there is none."""
    own, may_be_value = parser._option_string_actions, False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        is_value = may_be_value and (argument == "-" or not argument.startswith("-"))
        may_be_value = name in own and own[name].nargs != 0 and not equals and not is_value
        if not (is_value or name in own):
            return name if name.startswith("-") else argument
    return None


def foreign_sentence(argument: str) -> tuple[str, str]:
    """The error for an argument that is unknown here while there is no real zeroclaw, and its hint."""
    shown = one_line(mask_secrets(argument))[:_LONGEST_SHOWN]
    message = f"Unknown argument {shown}. If it is for the real zeroclaw, that was not found on your PATH."
    return message, "`zeroclaw onboard --help` lists the arguments of this program."


def check_spelling(parser: Parser, foreign: str) -> None:
    """Raise UsageError for an option that no ZeroClaw has and that is probably a misspelt one of ours."""
    if not foreign.startswith("--") or foreign in _ZEROCLAW_OPTIONS or foreign.endswith("-only"):
        return
    suggestion = suggest(foreign, parser._option_string_actions, cutoff=0.8)
    if suggestion is not None:
        shown = one_line(mask_secrets(foreign))[:_LONGEST_SHOWN]
        raise UsageError(
            f"Unknown argument {shown}.",
            hint=f"Did you mean {suggestion}? `zeroclaw --real onboard {shown}` runs the real zeroclaw.",
        )


def check_combination(args: argparse.Namespace) -> None:
    """Raise UsageError for options that contradict each other."""
    names = {name: getattr(args, name[2:]) for name in ("--memory", "--set", "--answers", "--interactive")}
    answering = [name for name, value in names.items() if value not in (None, False, [])]
    if args.restore is not None and answering:
        raise UsageError(
            f"--restore cannot be combined with {' and '.join(answering)}.",
            hint="Restore first, then run the other command.",
        )
    quiet = [name for name in ("--defaults", "--json") if getattr(args, name[2:])]
    if args.interactive and quiet:
        raise UsageError(
            f"--interactive asks questions and cannot be combined with {' and '.join(quiet)}.",
            hint="Leave one of them out.",
        )


def is_quiet(args: argparse.Namespace) -> bool:
    """Whether the options already answer or forbid questions."""
    options = (args.memory, args.set, args.answers, args.defaults, args.dry_run, args.json, args.yes)
    return any(option not in (None, False, []) for option in options)


def restore(install: Install, args: argparse.Namespace) -> int:
    """List the backups or restore one, and return the exit code. Raises InspectorError."""
    from zeroclaw_tui.config.save import list_backups

    config_file = install.config_file
    assert config_file is not None, "a candidate always has a config dir"
    backups = list_backups(install.own_dir)
    if not backups:
        raise NotFound(
            f"No backups of {config_file}.", hint="`zeroclaw onboard` makes one each time it changes the file."
        )
    if args.restore:
        return _restore_backup(install, config_file, _find_backup(args.restore, backups), args)
    listed = [{"name": backup.name, "path": str(backup.path), "when": backup.when.isoformat()} for backup in backups]
    document = {"config_file": str(config_file), "backups": listed, "restored": None, "dry_run": args.dry_run}
    title = Styled(f"Backups of {one_line(str(config_file))}, newest first", BOLD)
    end = "--restore NAME restores one; with --dry-run it shows the lines that would change."
    return output.print_result(args, document, [title, *(f"  {backup.name}" for backup in backups), end])


def _find_backup(name: str, backups: Sequence[Backup]) -> Backup:
    chosen = backups[0] if name == LATEST else next((backup for backup in backups if backup.name == name), None)
    if chosen is None:
        names = ", ".join(backup.name for backup in backups)
        shown = cut(one_line(name), _LONGEST_SHOWN)
        raise NotFound(f"No backup named {shown!r}.", hint=f"Backups: {names}. `latest` is the newest.")
    return chosen


def _restore_backup(install: Install, config_file: Path, backup: Backup, args: argparse.Namespace) -> int:
    from datetime import datetime

    from zeroclaw_tui.config.locations import command_at
    from zeroclaw_tui.config.save import read_backup, save_config
    from zeroclaw_tui.config.toml import read_config
    from zeroclaw_tui.onboard.review import command_line

    today, raw = read_config(config_file), read_backup(backup)
    document: dict[str, Any] = {"config_file": str(config_file), "restored": None, "backup": None}
    shown, compared = _compare(today, raw, config_file, backup.path)
    document |= {**compared, "dry_run": args.dry_run}
    if today == raw:
        shown = [[("", f"{one_line(str(config_file))} already equals {backup.name}.")]]
    elif args.dry_run:
        note(NOTHING_DONE)
    else:
        check_can_ask("zeroclaw onboard --restore", yes=args.yes)
        if not args.yes and not confirm(f"Restore {backup.name}?", styled_by_name(shown)):
            return REFUSED
        shown = shown if args.yes else []
        saved = save_config(config_file, today, raw, install.own_dir, datetime.now().astimezone())
        document |= {"restored": backup.name, "backup": saved.name if saved else None}
        shown.append([("good", "✓ "), ("", f"Restored {one_line(str(config_file))} from {backup.name}.")])
        if saved is not None:
            command = command_at(install, os.environ, "zeroclaw onboard", "--restore", saved.name)
            shown += [[("", "  To undo the restore:")], command_line(command)]
    if args.json:
        output.print_document(document)
    else:
        _write(shown)
    return DONE


def _compare(today: bytes | None, raw: bytes, file: Path, backup: Path) -> tuple[list[NamedLine], dict[str, Any]]:
    """Describe what a restore changes, as lines and for JSON; a file that is not TOML is not compared."""
    from zeroclaw_tui.config.document import ConfigDocument
    from zeroclaw_tui.config.save import compare_configs
    from zeroclaw_tui.memory.errors import BrokenConfig
    from zeroclaw_tui.onboard.review import counted_lines, difference_lines, difference_text

    title = ("title", one_line(str(file)))
    try:
        before, after = ConfigDocument.from_bytes(today or b"", file), ConfigDocument.from_bytes(raw, backup)
    except BrokenConfig as problem:
        return [[title], [("", f"The lines are not compared: {problem.message}")]], {"lines": None, "diff": None}
    compared = compare_configs(before, after)
    lines = [[title, ("dim", f"    {counted_lines(compared)}")], *difference_lines(compared)]
    counts = {"changed": compared.differing, "kept": compared.unchanged}
    return lines, {"lines": counts, "diff": difference_text(compared)}


class TestFailed(InspectorError):
    """A test of the answers failed, so nothing is written."""

    title = "A test failed"


def onboard(args: argparse.Namespace) -> int:
    """Restore, ask, or apply the options, and return the exit code. Raises InspectorError."""
    check_combination(args)
    if args.restore is not None:
        return restore(_the_install(args), args)
    in_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if in_terminal and (args.interactive or not is_quiet(args)):
        return _run_wizard(args)
    if args.interactive:
        raise UsageError("--interactive needs a terminal.", hint=_HOW_WITHOUT_ASKING)
    return _apply_options(args)


def _run_wizard(args: argparse.Namespace) -> int:
    from zeroclaw_tui.onboard.prompts import terminal_asker, without_echo
    from zeroclaw_tui.onboard.wizard import Request, run_wizard

    request = Request(
        config_dir=args.config_dir,
        workspace=args.workspace,
        memory=args.memory,
        assignments=tuple(args.set),
        answers_file=args.answers,
        tests=not args.no_test,
        dry_run=args.dry_run,
    )
    try:
        with without_echo():
            ended = run_wizard(terminal_asker(), request, os.environ)
    except EOFError as error:
        raise UsageError("The input ended before all questions were answered.", hint=_HOW_WITHOUT_ASKING) from error
    if ended.real:
        from zeroclaw_tui.cli.hand_over import hand_over

        if ended.config_dir is not None:
            os.environ["ZEROCLAW_CONFIG_DIR"] = str(ended.config_dir)
        hand_over(ended.real)
    if ended.inspect is None:
        return DONE
    from zeroclaw_tui.config.locations import OpenOptions
    from zeroclaw_tui.tui.app import run_inspector

    return run_inspector(OpenOptions(config_dir=ended.inspect))


def _apply_options(args: argparse.Namespace) -> int:
    import asyncio

    from zeroclaw_tui.onboard.answers import gather
    from zeroclaw_tui.onboard.plan import apply_plan, make_plan
    from zeroclaw_tui.onboard.review import after_lines, plan_document, review_lines
    from zeroclaw_tui.onboard.situation import situation_at

    situation = asyncio.run(situation_at(_the_install(args), os.environ))
    answers = gather(
        situation,
        memory=args.memory,
        assignments=tuple(args.set),
        answers_file=args.answers,
        with_defaults=args.defaults,
    )
    plan = make_plan(answers)
    for warning in plan.warnings:
        note(f"zeroclaw: {warning}")
    findings = [] if args.no_test or plan.is_empty else asyncio.run(_tests(plan))
    bad = [finding for finding in findings if finding.verdict == "bad"]
    writes = not (args.dry_run or bad or plan.is_empty)
    backup = apply_plan(plan) if writes else None
    failed = _test_failure(bad[0], dry_run=args.dry_run) if bad else None
    if args.json:
        document = {**plan_document(plan, findings, written=writes, backup=backup), "dry_run": args.dry_run}
        if failed is not None:
            document["error"] = output.error_as_json(failed.title, failed.message, failed.hint, failed.exit_code)
        output.print_document(document)
        if failed is None:
            return DONE
        note(f"zeroclaw: {failed.message}\n{failed.hint}")
        return failed.exit_code
    # The finding that fails the command is printed once, on stderr.
    lines = review_lines(plan, [finding for finding in findings if finding not in bad[:1]])
    _write([*lines, *(after_lines(plan, backup) if writes else ())])
    if failed is not None:
        raise failed
    if args.dry_run:
        note(NOTHING_DONE)
    return DONE


def _write(lines: Iterable[NamedLine]) -> None:
    from zeroclaw_tui.onboard.prompts import with_runnable_commands

    output.write_lines(styled_by_name(map(with_runnable_commands, lines)))


async def _tests(plan: Plan) -> list[Finding]:
    import asyncio

    from zeroclaw_tui.onboard.probes import run_probe, subjects

    changed = {change.name for change in plan.changes}
    tested = subjects(plan.answers, changed)
    return [*await asyncio.gather(*(run_probe(subject, plan.answers) for subject in tested))]


def _test_failure(finding: Finding, *, dry_run: bool) -> TestFailed:
    from zeroclaw_tui.onboard.review import finding_sentence

    message = f"{finding_sentence(finding).rstrip('.')}. Nothing was written."
    ways = [finding.hint] if finding.hint else []
    ways += [f"Pass --set {name}={value} to fix it." for name, value in finding.corrections.items()]
    if not dry_run:
        ways.append("Pass --no-test to write anyway.")
    error = TestFailed(message, hint=" ".join(ways))
    error.exit_code = finding.exit_code
    return error


def _the_install(args: argparse.Namespace) -> Install:
    """Find the install to use; other candidates are named on stderr."""
    from zeroclaw_tui.config.locations import home_folder
    from zeroclaw_tui.onboard.situation import candidates

    home = home_folder(os.environ, args.config_dir)
    chosen, *others = candidates(os.environ, home, config_dir=args.config_dir, workspace=args.workspace)
    if others:
        chosen_text, *other_texts = (f"{each.config_dir} ({each.rule})" for each in (chosen, *others))
        note(f"zeroclaw: Using {chosen_text}. Also found: {', '.join(other_texts)}. Choose another with --config-dir.")
    return chosen
