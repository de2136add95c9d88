"""The review at the end, and the other output of the wizard apart from its questions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.config.locations import command_at, config_dir_option
from zeroclaw_tui.config.masking import masked_secret
from zeroclaw_tui.config.save import ConfigDiff, compare_configs
from zeroclaw_tui.config.secrets import KEY_FILE, is_encrypted
from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import HIDDEN, counted, first_names, mask_secrets, one_line, shell_word
from zeroclaw_tui.onboard.answers import BACKEND_TITLES, Answers
from zeroclaw_tui.onboard.plan import KeyChange, Plan, make_plan, previous_store
from zeroclaw_tui.onboard.probes import Finding
from zeroclaw_tui.onboard.prompts import COMMAND, RULE, Asker, Line, Move
from zeroclaw_tui.onboard.question import Choice
from zeroclaw_tui.onboard.situation import Situation
from zeroclaw_tui.onboard.wanted import PROVIDER
from zeroclaw_tui.scoring.profiles import parse_version

Decision = Literal["write", "leave", "change", "back"]
SUBJECTS = {**BACKEND_TITLES, "embedding": "Embeddings"}
"""The titles of the tested subjects."""
_LEAVE = Choice("leave", "Cancel without saving")
_MARKS = {"good": ("good", "✓ "), "bad": ("bad", "✗ "), "not tested": ("dim", "– ")}
_SIGNS = {"section": "  ", "removed": "- ", "added": "+ "}
_MAX_NAMES = 4
_OF_MEMORY = frozenset({"schema_version", "default_temperature", "secrets", "memory", "storage"})
"""The top-level keys that are not about providers and channels."""


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The user's decision, and the plan shown; None if no plan was possible."""

    decision: Decision
    plan: Plan | None


def review(
    asker: Asker, answers: Answers, findings: Sequence[Finding], *, dry_run: bool = False, can_change: bool = True
) -> ReviewResult:
    """Show what these answers would change, and ask what to do.

    Without `can_change` no question was asked, so that no answer can be changed.
    """

    def compare() -> tuple[Plan, ConfigDiff]:
        plan = make_plan(answers)
        return plan, shown_difference(plan)

    change = [Choice("change", "Change an answer")] if can_change else []
    title, plan, whole = "What now?", None, list[Line]()
    try:
        plan, difference = asker.working("Comparing with config.toml …", compare)
    except InspectorError as problem:
        asker.say([[("bad", f"✗ {problem.message}")], *([[("", f"  {problem.hint}")]] if problem.hint else [])])
        choices = [*change, _LEAVE]
    else:
        asker.say([[], [(RULE, "Review")], *_changes_and_findings(plan, findings, difference, is_short=True)])
        short, whole = ([*_changed_lines(plan, difference, is_short=is_short)] for is_short in (True, False))
        # Repeat the summary, because a long review scrolls off a small screen.
        title = f"{shown_path(answers.situation)}: {counts_text(plan, difference)}. {title}"
        write = Choice("write", "Done", "dry run, nothing is written") if dry_run else Choice("write", "Write")
        lines = [] if short == whole else [Choice("lines", "Show every line")]
        choices = [_LEAVE, *change] if plan.is_empty else [write, *lines, *change, _LEAVE]
    while True:
        chosen = asker.choose(title, choices, preset=choices[0].value, back=can_change)
        if chosen != "lines":
            decisions: dict[str | Move, Decision] = {Move.BACK: "back", "write": "write", "change": "change"}
            return ReviewResult(decisions.get(chosen, "leave"), plan)
        asker.say(whole)
        choices = [choice for choice in choices if choice.value != "lines"]


def review_lines(plan: Plan, findings: Sequence[Finding]) -> list[Line]:
    """The review: file, number of changed lines, masked diff, notes, test results."""
    difference = shown_difference(plan)
    return [
        [("title", shown_path(plan.answers.situation)), ("dim", f"    {counts_text(plan, difference)}")],
        *_changes_and_findings(plan, findings, difference, is_short=False),
    ]


def _changes_and_findings(
    plan: Plan, findings: Sequence[Finding], difference: ConfigDiff, *, is_short: bool
) -> Iterator[Line]:
    """The diff, notes and test results; `is_short` summarises changes without an answer and successful tests."""
    yield from _changed_lines(plan, difference, is_short=is_short)
    for note in plan.notes:
        yield warning_line(note)
    for finding in findings:
        lines = finding_lines(finding)
        yield from lines[:1] if is_short and finding.verdict == "good" else lines


def finding_lines(finding: Finding) -> list[Line]:
    """The result of one test: a mark, its sentence, and below it the facts and the hint."""
    lines: list[Line] = [[_MARKS[finding.verdict], ("", finding_sentence(finding))]]
    lines += [[("", "  "), ("", one_line(fact))] for fact in finding.facts]
    if finding.verdict != "good" and finding.hint:
        lines.append([("", "  "), ("dim", one_line(finding.hint))])
    lines += [
        [("", "  "), ("accent", f"Suggested: {name} = {one_line(str(value))}")]
        for name, value in finding.corrections.items()
    ]
    return lines


def finding_sentence(finding: Finding) -> str:
    """The sentence of a finding, with the subject in front if it is not a full sentence."""
    sentence = one_line(finding.sentence)
    if sentence[:1].isupper():
        return sentence
    return f"{SUBJECTS.get(finding.subject, finding.subject)}: {sentence}"


def difference_lines(difference: ConfigDiff) -> Iterator[Line]:
    """The lines of a difference: "- " removed, "+ " added, below the header of its table."""
    for line in difference.lines:
        yield [(line.kind, _SIGNS[line.kind] + line.text)]


def after_lines(plan: Plan, backup: str | None) -> list[Line]:
    """The output after writing: what changed, how to restore the backup, and what to do next."""
    situation = plan.answers.situation
    lines: list[Line] = [
        [("good", "✓ "), ("", f"Saved {shown_path(situation)}")],
        [("", f"  {_changed_words(plan)}")],
    ]
    if backup is not None:
        lines += [
            [("", "  To restore the previous version:")],
            command_line(_command(situation, "zeroclaw onboard", "--restore", shell_word(backup))),
        ]
    if plan.new_key is not None:
        key_file = shown_path(situation, situation.config_dir / KEY_FILE)
        advice = "Back it up, because encrypted values cannot be read without it."
        lines.append([("", f"  Created the key file {key_file}. {advice}")])
    lines.append([("", "  Restart ZeroClaw to apply the changes.")])
    left, new = previous_store(plan), plan.answers.backend()
    if left is not None:
        stay = f"The memories in {BACKEND_TITLES[left]} are still there. Copy them with:"
        lines.append([("", f"config.toml now names {BACKEND_TITLES[new]}. {stay}")])
        lines.append(command_line(_command(situation, "zeroclaw memory copy", f"--backend {left} --to {new}")))
    is_first = situation.document.values.keys() <= _OF_MEMORY
    if is_first:
        lines.append([("", hand_off_text(situation, is_written=True))])
        if situation.binary is not None:
            lines.append(command_line(real_command(situation)))
    if known_backend(new).keeps_nothing:
        return lines
    lines.append([("", "Browse the memories, or store the first one:" if is_first else "Browse the memories:")])
    lines.append(command_line(_command(situation, "zeroclaw-tui")))
    if is_first:
        lines.append(command_line(_command(situation, 'zeroclaw memory store user_lang "User prefers Rust"')))
    return lines


def _command(situation: Situation, command: str, *arguments: str) -> str:
    return command_at(situation.install, situation.environ, command, *arguments)


def hand_off_text(situation: Situation, *, is_written: bool = False) -> str:
    """A sentence about the command for providers and channels, which may rewrite this file."""
    if situation.binary is None:
        return "This wizard only sets up memory. For providers and channels install ZeroClaw (not found on your PATH)."
    if is_written:
        return (
            "This wizard only sets up memory. For providers and channels run this command, which may rewrite the file:"
        )
    command = f"`zeroclaw --real {' '.join(real_arguments(situation))}`"
    return f"This wizard only sets up memory. For providers and channels run {command} first: it may rewrite the file."


def real_arguments(situation: Situation) -> tuple[str, ...]:
    """ZeroClaw's command for providers and channels: `onboard`, with `--interactive` in 0.1.x, or `quickstart`."""
    target = situation.target
    version = parse_version(target.version) if target.version else None
    if target.is_modern if version is None else version >= (0, 8, 0):
        return ("quickstart",)
    return ("onboard", "--interactive") if version is not None and version <= (0, 1, 8) else ("onboard",)


def real_command(situation: Situation) -> str:
    """The full command for providers and channels in this shell."""
    command = " ".join(real_arguments(situation))
    is_named = config_dir_option(situation.install, situation.environ)
    place = f"ZEROCLAW_CONFIG_DIR={shell_word(str(situation.config_dir))} " if is_named else ""
    return f"{place}zeroclaw --real {command}"


def plan_document(plan: Plan, findings: Sequence[Finding], *, written: bool, backup: str | None) -> dict[str, Any]:
    """The document of `--json`, without `dry_run`. Secrets are masked."""
    situation = plan.answers.situation
    target = situation.target
    difference = shown_difference(plan)
    return {
        "config_file": str(situation.config_file),
        "zeroclaw": {
            "schema": target.schema,
            "version": target.version,
            "form": "aliases" if target.has_aliases else "plain names",
        },
        "backend": plan.answers.backend(),
        "written": written,
        "backup": backup,
        "changes": [_change_as_json(change) for change in plan.changes],
        "diff": difference_text(difference),
        "lines": {"changed": difference.differing, "kept": difference.unchanged},
        "tests": [_finding_as_json(finding) for finding in findings],
        "notes": list(plan.notes),
        "warnings": list(plan.warnings),
    }


def difference_text(difference: ConfigDiff) -> str:
    """Format a difference as a text, one line each."""
    return "\n".join(_SIGNS[line.kind] + line.text for line in difference.lines)


def shown_path(situation: Situation, file: Path | None = None) -> str:
    """The path of a file, or else of the config file, with a tilde for the home folder."""
    path, home = str(file or situation.config_file), situation.environ.get("HOME", "")
    below = home.rstrip(os.sep) + os.sep
    return one_line(f"~{os.sep}{path.removeprefix(below)}" if home and path.startswith(below) else path)


def counted_lines(difference: ConfigDiff) -> str:
    """Format the counts: "1 changed, 5 added, 1,204 unchanged"."""
    counts = {"changed": difference.replaced, "added": difference.added, "removed": difference.removed}
    parts = [f"{count:,} {kind}" for kind, count in counts.items() if count]
    return ", ".join((*parts, f"{difference.unchanged:,} unchanged"))


def counts_text(plan: Plan, difference: ConfigDiff) -> str:
    """The number of changed lines, or that there is nothing to change."""
    if plan.is_empty:
        return "nothing to change"
    if plan.answers.situation.is_new:
        return f"a new file of {len(plan.after.text.splitlines()):,} lines"
    return counted_lines(difference)


def _changed_words(plan: Plan) -> str:
    """A summary of the changed settings, with the first few names."""
    names = [change.name.removeprefix("memory.") for change in plan.changes]
    if plan.answers.situation.is_new:
        return f"A new file with {len(names)} settings."
    counts = counted_lines(compare_configs(plan.before, plan.after))
    return f"Lines: {counts}. Settings: {first_names(names, most=_MAX_NAMES)}."


def _changed_lines(plan: Plan, difference: ConfigDiff, *, is_short: bool) -> Iterator[Line]:
    """The diff; with `is_short` a last line summarises comments, and the changes that no answer asked for."""
    encrypted = {change.path for change in plan.changes if _becomes_encrypted(plan, change)}
    unasked = {change.path: change for change in plan.changes if _is_unasked(plan, change)} if is_short else {}
    comments, defaults, with_backend = 0, list[str](), set[KeyPath]()
    for line in difference.lines:
        change = unasked.get(line.path)
        if is_short and line.kind == "added" and line.text.lstrip()[:1] in ("", "#"):
            comments += 1
        elif change is None:
            is_encrypted = line.kind == "added" and line.path in encrypted
            yield [(line.kind, _SIGNS[line.kind] + line.text), ("dim", "    encrypted" if is_encrypted else "")]
        elif change.before is None:
            defaults.append(line.text.partition("#")[0].strip())
        else:
            with_backend.add(line.path)
    are_listed = plan.answers.situation.is_new or len(defaults) <= _MAX_NAMES
    facts = (
        (comments, f"{counted(comments, 'line')} of comments and blanks"),
        (len(defaults), counted(len(defaults), "default") + (f": {', '.join(defaults)}" if are_listed else "")),
        (len(with_backend), f"{counted(len(with_backend), 'change')} with the backend"),
    )
    if more := ", ".join(text for number, text in facts if number):
        yield [("dim", f"  and {more}")]


def _is_unasked(plan: Plan, change: KeyChange) -> bool:
    """Whether a change of memory or storage, other than the backend itself, has no explicit answer."""
    is_of_memory = change.name.startswith(("memory.", "storage."))
    return is_of_memory and change.name not in (BACKEND, PROVIDER, *plan.answers.given)


def _change_as_json(change: KeyChange) -> dict[str, Any]:
    def shown(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [shown(item) for item in value]
        if change.is_secret and value is not None:
            return HIDDEN
        return mask_secrets(value) if isinstance(value, str) else value

    return {
        "key": change.name,
        "path": list(change.path),
        "from": shown(change.before),
        "to": shown(change.after),
        "secret": change.is_secret,
    }


def _finding_as_json(finding: Finding) -> dict[str, Any]:
    return {
        "subject": finding.subject,
        "verdict": finding.verdict,
        "sentence": finding.sentence,
        "facts": list(finding.facts),
        "hint": finding.hint,
        "corrections": dict(finding.corrections),
    }


def warning_line(text: str) -> Line:
    """Format a sentence as a warning."""
    return [("warning", "! "), ("", one_line(text))]


def command_line(text: str) -> Line:
    """Format a command to copy."""
    return [(COMMAND, f"    {text}")]


def _becomes_encrypted(plan: Plan, change: KeyChange) -> bool:
    """Whether a secret that was given as plain text will be encrypted in the file."""
    return change.is_secret and is_encrypted(str(plan.after.get(change.path))) and not is_encrypted(str(change.after))


def shown_difference(plan: Plan) -> ConfigDiff:
    """The difference of a plan, with masked secrets instead of encrypted ones."""
    shown = {
        change.path: masked_secret(change.after)
        for change in plan.changes
        if change.is_secret and isinstance(change.after, str) and plan.after.has(change.path)
    }
    return compare_configs(plan.before, plan.after.with_values(shown) if shown else plan.after)
