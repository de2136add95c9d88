"""`zeroclaw onboard`: asks in a terminal, answers by flags, and puts backups back.

`zeroclaw onboard --restore`: the backups of config.toml, and putting one back, which can be taken back itself.

The document of `--json` without a name: {"config_file", "backups", "restored": null, "dry_run"}, each backup {"name",
"path", "when", "size", "lines": {"changed", "kept"}, "diff"}, newest first. With a name: the same "config_file" and
"dry_run", "restored" (the name, null when nothing was put back), "backup" (of what was there before), "lines", "diff".

`zeroclaw onboard`: asks in a terminal, else answers by flags.

The document of `--json` is that of `plan_document` with "dry_run", and "losses" where recall tests have to do with it.
A test of what is answered that finds something wrong is in it too,
with "written" false and "error"; of every other failure "error" is all of the document. Nothing is asked, and so
nothing but the document written, beside any option that answers or wants no questions.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.guard import NOTHING_DONE, confirm, typed
from zeroclaw_tui.cli.onboard_options import check_fits, is_quiet
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    Line,
    Styled,
    document,
    error_as_json,
    note,
    styled_by_name,
    write_lines,
)
from zeroclaw_tui.cli.output import write_lines as write
from zeroclaw_tui.config.difference import Difference, DiffLine, difference
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.locations import home_folder
from zeroclaw_tui.config.masking import is_secret_name
from zeroclaw_tui.config.save import Backup, list_backups, read_backup, read_config, save_config
from zeroclaw_tui.memory.errors import DONE, REFUSED, WRONG_USE, BrokenConfig, InspectorError, NotThere, WrongUse
from zeroclaw_tui.memory.text import HIDDEN, cut, one_line, size_shown
from zeroclaw_tui.onboard.answers import gather
from zeroclaw_tui.onboard.plan import Plan, apply_plan, make_plan
from zeroclaw_tui.onboard.probes import Finding, run_probe, subjects
from zeroclaw_tui.onboard.questions import masked_address
from zeroclaw_tui.onboard.review import (
    SUBJECTS,
    after_lines,
    counted_lines,
    difference_lines,
    difference_text,
    export_lines,
    finding_sentence,
    losses_lines,
    losses_of_plan,
    place_option,
    plan_document,
    review_lines,
)
from zeroclaw_tui.onboard.situation import Candidate, Situation, candidates, situation_at

if TYPE_CHECKING:
    from zeroclaw_tui.curation.evaluation import Losses

LATEST = "latest"
_LINES_IN_THE_LIST = 6
_LONGEST_NAME_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Version:
    """A backup beside today's file: `difference` is what putting it back would do."""

    backup: Backup
    raw: bytes
    difference: Difference
    is_today: bool


def restore(candidate: Candidate, given: argparse.Namespace) -> int:
    """List the backups, or put one back; the exit code. Raises InspectorError kinds."""
    config_file = candidate.install.config_file
    assert config_file is not None, "a candidate always has a config dir"
    today = read_config(config_file)
    backups = list_backups(candidate.install.own_dir)
    if not backups:
        raise NotThere(
            f"There is no backup of {config_file}.", hint="One is made each time `zeroclaw onboard` changes the file."
        )
    if given.restore:
        version = _beside(_named(given.restore, backups), today, config_file)
        return _put_back(candidate, version, today, given)
    versions = [_beside(backup, today, config_file) for backup in backups]
    if given.json:
        shown = [_as_json(version) for version in versions]
        document({"config_file": str(config_file), "backups": shown, "restored": None, "dry_run": given.dry_run})
        return DONE
    if given.dry_run or not _can_ask():
        write(_list_lines(config_file, versions))
        return _how_to_name(place_option(candidate.rule, config_file.parent)) if not given.dry_run else DONE
    chosen = _choose(config_file, versions)
    return REFUSED if chosen is None else _put_back(candidate, chosen, today, given)


def _put_back(candidate: Candidate, version: Version, today: bytes | None, given: argparse.Namespace) -> int:
    config_file = candidate.install.config_file
    assert config_file is not None
    if version.is_today:
        return _tell_restored(
            version, config_file, given, [(f"{one_line(str(config_file))} is already as in {version.backup.name}.",)]
        )
    shown: list[Line] = [
        (Styled(one_line(str(config_file)), BOLD), Styled(f"    {counted_lines(version.difference)}", DIM)),
        *styled_by_name(difference_lines(version.difference)),
    ]
    if given.dry_run:
        code = _tell_restored(version, config_file, given, shown)
        note(NOTHING_DONE)
        return code
    if not given.yes:
        _check_can_ask()
        if not confirm(f"Put {version.backup.name} back?", shown):
            return REFUSED
        shown = []
    kept = save_config(config_file, today, version.raw, candidate.install.own_dir, datetime.now().astimezone())
    done: list[Line] = [(Styled("✓", GREEN), f" {one_line(str(config_file))} is again as in {version.backup.name}.")]
    if kept is None:
        done.append(("  There was no such file before.",))
    else:
        option = place_option(candidate.rule, config_file.parent)
        done.append((f"  `zeroclaw onboard{option} --restore {kept.name}` takes that back.",))
    return _tell_restored(version, config_file, given, [*shown, *done], restored=True, kept=kept)


def _tell_restored(
    version: Version,
    config_file: Path,
    given: argparse.Namespace,
    lines: Sequence[Line],
    *,
    restored: bool = False,
    kept: Backup | None = None,
) -> int:
    if given.json:
        document(
            {
                "config_file": str(config_file),
                "restored": version.backup.name if restored else None,
                "backup": kept.name if kept else None,
                "dry_run": given.dry_run,
                "lines": {"changed": version.difference.changed, "kept": version.difference.kept},
                "diff": difference_text(version.difference),
            }
        )
    else:
        write(lines)
    return DONE


def _named(name: str, backups: Sequence[Backup]) -> Backup:
    if name == LATEST:
        return backups[0]
    exact = [backup for backup in backups if backup.name == name]
    found = exact or [backup for backup in backups if backup.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    shown = repr(cut(one_line(name), _LONGEST_NAME_SHOWN))
    if not found:
        there = ", ".join(backup.name for backup in backups)
        raise NotThere(f"There is no backup {shown}.", hint=f"There are {there}; `latest` is the newest.")
    raise WrongUse(
        f"Several backups begin with {shown}.",
        hint=f"They are {', '.join(backup.name for backup in found)}.",
    )


def _beside(backup: Backup, today: bytes | None, config_file: Path) -> Version:
    raw = read_backup(backup)
    return Version(backup, raw, any_difference(today or b"", raw, config_file), is_today=raw == today)


def _choose(config_file: Path, versions: Sequence[Version]) -> Version | None:
    """The version a person names by its number; None for an empty answer."""
    shown: list[Line] = [*_list_lines(config_file, versions)]
    while answer := typed(f"Which one (1 to {len(versions)}; empty leaves the file as it is)? ", shown):
        if answer.isdecimal() and 1 <= int(answer) <= len(versions):
            return versions[int(answer) - 1]
        shown = [(f"There is no {one_line(answer)[:20]!r} in the list.",)]
    note(NOTHING_DONE)
    return None


def _list_lines(config_file: Path, versions: Sequence[Version]) -> Iterator[Line]:
    yield (Styled(f"Backups of {one_line(str(config_file))}, the newest first", BOLD),)
    for number, version in enumerate(versions, start=1):
        when = version.backup.when.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        differs = "as the file is now" if version.is_today else counted_lines(version.difference)
        yield (f"{number:>3}  ", Styled(version.backup.name, BOLD), "  ", Styled(differs, DIM))
        # On a line of its own, for all together would break at 80 columns.
        yield (Styled(f"     {when}  {size_shown(len(version.raw))}", DIM),)
        lines = styled_by_name(difference_lines(version.difference))
        yield from (["     ", *line] for line in lines[:_LINES_IN_THE_LIST])
        if len(lines) > _LINES_IN_THE_LIST:
            more = f"… {len(lines) - _LINES_IN_THE_LIST:,} more; --restore {version.backup.name} --dry-run shows all"
            yield (Styled(f"     {more}", DIM),)


def _as_json(version: Version) -> dict[str, Any]:
    return {
        "name": version.backup.name,
        "path": str(version.backup.path),
        "when": version.backup.when.isoformat(),
        "size": len(version.raw),
        "lines": {"changed": version.difference.changed, "kept": version.difference.kept},
        "diff": difference_text(version.difference),
    }


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _check_can_ask() -> None:
    if not _can_ask():
        raise WrongUse(
            "--restore asks first, and there is no terminal to answer in.",
            hint="--yes does it without asking; --dry-run only shows what would change.",
        )


def _how_to_name(option: str) -> int:
    command = f"`zeroclaw onboard{option} --restore NAME --yes`"
    note(f"zeroclaw: Which one cannot be asked without a terminal: {command} puts it back.")
    return WRONG_USE


_ASSIGNED = re.compile(
    r"""(?P<name>[A-Za-z0-9_\-."']+)(?P<equals>\s*=\s*)(?P<value>"(?:[^"\\]|\\.)*"?|'[^']*'?|[^,}\s]+)"""
)
_OPAQUE = re.compile(r"(?:enc2?:|op://)[^\"'\s,}\]]*")
_KEY = re.compile(r"""\s*[A-Za-z0-9_\-."' ]+=""")


def any_difference(before: bytes, after: bytes, path: Path) -> Difference:
    """Compare two versions by their bytes: as TOML, or by lines where one of them cannot be read."""
    try:
        return difference(ConfigDocument.from_bytes(before, path), ConfigDocument.from_bytes(after, path))
    except BrokenConfig:
        return _by_lines(_lines(before), _lines(after))


def _by_lines(before: list[str], after: list[str]) -> Difference:
    lines: list[DiffLine] = []
    changed = kept = 0
    told = ""
    # A line that occurs often is no reason to call others different.
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            kept += j - i
            continue
        changed += max(j - i, m - k)
        header = _header_above(before, i)
        if header and header != told:
            lines.append(DiffLine("section", _masked(header)))
        told = header
        lines += [DiffLine("removed", _masked(line)) for line in before[i:j]]
        lines += [DiffLine("added", _masked(line)) for line in after[k:m]]
    return Difference(tuple(lines), changed, kept)


def _lines(raw: bytes) -> list[str]:
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _header_above(lines: list[str], at: int) -> str:
    above: Iterator[str] = (line for line in reversed(lines[:at]) if line.lstrip().startswith("["))
    return next(above, "")


def _masked(line: str) -> str:
    """A line that is neither header, comment nor `key = value` may be part of a secret of several lines."""
    stripped = line.strip()
    if stripped and not stripped.startswith(("[", "#")) and not _KEY.match(line):
        return HIDDEN
    name, equals, _ = line.partition("=")
    if equals and not stripped.startswith(("[", "#")) and _is_secret(name):
        return f"{name}= {HIDDEN}"
    return masked_address(_OPAQUE.sub(HIDDEN, _ASSIGNED.sub(_without_secret, line)))


def _without_secret(found: re.Match[str]) -> str:
    value = HIDDEN if _is_secret(found.group("name")) else found.group("value")
    return f"{found.group('name')}{found.group('equals')}{value}"


def _is_secret(name: str) -> bool:
    return is_secret_name(name.strip().rpartition(".")[2].strip(" \"'"))


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
    from zeroclaw_tui.config.locations import OpenOptions
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
    # Before the file says otherwise: what is asked is the config as it is.
    losses = losses_of_plan(plan)
    backup = apply_plan(plan) if writes else None
    failed = _failed(bad, dry_run=given.dry_run) if bad else None
    if given.json:
        told = {**plan_document(plan, findings, written=writes, backup=backup), "dry_run": given.dry_run}
        if losses is not None:
            told["losses"] = losses.as_json()
        if failed is not None:
            told["error"] = error_as_json(failed.title, failed.message, failed.hint, failed.exit_code)
        document(told)
        if failed is not None:
            note(f"zeroclaw: {failed.message}\n{failed.hint}")
            return failed.exit_code
    else:
        _tell(plan, findings, losses, written=writes, backup=backup)
        if given.dry_run and not bad:
            note(NOTHING_DONE)
    if failed is not None:
        raise failed
    return DONE


def _tell(plan: Plan, findings: Sequence[Finding], losses: Losses | None, *, written: bool, backup: str | None) -> None:
    lines = [*review_lines(plan, findings), *losses_lines(losses)]
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
