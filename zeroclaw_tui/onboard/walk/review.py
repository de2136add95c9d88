"""The review: what would be written, and what to do with it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.onboard.answers.answers import Answers, answers_text
from zeroclaw_tui.onboard.asker import Asker, Line, Move
from zeroclaw_tui.onboard.masking import shown_difference
from zeroclaw_tui.onboard.planning.plan import Plan, make_plan
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.questions.catalogue import Choice
from zeroclaw_tui.onboard.summary import counts_words, review_lines
from zeroclaw_tui.onboard.walk.saving_answers import file_complaint, save_answers

ANSWERS_FILE = "answers.toml"
_ASK = "What now?"
_WRITE = Choice("write", "Write it")
_DRY = Choice("write", "Done", "a dry run: nothing is written")
_CHANGE = Choice("change", "Change something")
_SAVE = Choice("save", "Save answers, without secrets")
_LEAVE = Choice("leave", "Leave as it was")

Decision = Literal["write", "leave", "change", "back"]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What the person chose, and the plan shown; None where none could be made."""

    decision: Decision
    plan: Plan | None


def review(
    asker: Asker, answers: Answers, findings: Sequence[Finding], *, dry_run: bool = False, back: bool = True
) -> Reviewed:
    """Show what these answers would change and ask what to do; saving the answers comes back to the same menu."""
    plan, title = _shown_plan(asker, answers, findings)
    choices = _choices(plan, dry_run=dry_run)
    while True:
        chosen = asker.choose(title, choices, preset=choices[0].value, back=back)
        if isinstance(chosen, Move):
            return Reviewed("back", plan)
        if chosen != _SAVE.value:
            return Reviewed(_decision(chosen), plan)
        _save(asker, answers)


def problem_lines(problem: InspectorError) -> list[Line]:
    """A failure and what to do next."""
    lines: list[Line] = [[("bad", f"✗ {problem.message}")]]
    if problem.hint:
        lines.append([("", f"  {problem.hint}")])
    return lines


def _shown_plan(asker: Asker, answers: Answers, findings: Sequence[Finding]) -> tuple[Plan | None, str]:
    """The plan, None where there is none, and what to ask below it: the counts again, since the top of a long review
    has left a small screen."""
    try:
        plan = make_plan(answers)
    except InspectorError as problem:
        asker.say(problem_lines(problem))
        return None, _ASK
    difference = shown_difference(plan)
    lines = review_lines(plan, findings, difference)
    asker.say([[], [("rule", "Review")], *(_without_comments(lines) if answers.situation.is_new else lines)])
    counts = counts_words(plan, difference)
    return plan, f"{counts[:1].upper()}{counts[1:]}. {_ASK}"


def _without_comments(lines: Sequence[Line]) -> list[Line]:
    """A new file's keys alone, for its comments fill a screen and say what the questions said."""
    shown = [line for line in lines if not (line[0][0] == "added" and _is_comment(line[0][1]))]
    left_out = len(lines) - len(shown)
    if left_out:
        last = max(number for number, line in enumerate(shown) if line[0][0] == "added")
        shown.insert(last + 1, [("dim", f"  and {left_out} lines of comments and blanks")])
    return shown


def _is_comment(text: str) -> bool:
    written = text.removeprefix("+").strip()
    return not written or written.startswith("#")


def _choices(plan: Plan | None, *, dry_run: bool) -> list[Choice]:
    if plan is None:
        return [_CHANGE, _SAVE, _LEAVE]
    if plan.is_empty:
        return [_LEAVE, _CHANGE, _SAVE]
    return [_DRY if dry_run else _WRITE, _CHANGE, _SAVE, _LEAVE]


def _decision(chosen: str) -> Decision:
    decisions: dict[str, Decision] = {"write": "write", "change": "change", "leave": "leave"}
    return decisions[chosen]


def _save(asker: Asker, answers: Answers) -> None:
    name = asker.ask_text("Save the answers as", ANSWERS_FILE, file_complaint)
    if isinstance(name, Move):
        return
    path = Path(name.strip()).expanduser()
    if path.exists() and not _may_replace(asker, path):
        asker.say([[("", f"{path} stays as it is.")]])
        return
    try:
        save_answers(path, answers_text(answers))
    except InspectorError as problem:
        asker.say(problem_lines(problem))
        return
    asker.say(
        [
            [("good", "✓ "), ("", f"Saved in {path}, without secrets. To answer from it:")],
            [("accent", f"    zeroclaw onboard --answers {shlex.quote(str(path))}")],
        ]
    )


def _may_replace(asker: Asker, path: Path) -> bool:
    choices = (Choice("no", "No, keep it"), Choice("yes", "Yes, replace it"))
    return asker.choose(f"{path} is there already. Replace it?", choices, preset="no", back=False) == "yes"
