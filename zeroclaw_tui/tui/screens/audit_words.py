"""The sentences of the audit: what was found, what is marked, what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.audit.findings import AuditReport, Finding, FindingKind
from zeroclaw_tui.curation.superseded import among_fact
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import count_text, size_text
from zeroclaw_tui.tui.screens.audit_marks import polluted
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.audit.remedies import MergePlan
    from zeroclaw_tui.curation.changes import Outcome

GLYPHS: dict[FindingKind, str] = {
    "assistant replies": "»",
    "recall blobs": "∞",
    "tool results": "$",
    "heartbeat and cron": "~",
    "too short": "·",
    "too long": "↕",
    "empty keys": "∅",
    "exact duplicates": "=",
    "near duplicates": "≈",
    "stale vectors": "↺",
    "secrets": "!",
    "hidden text": "◌",
}
_LONGEST_NAME = 60

EmptyWords = tuple[str, str, tuple[tuple[str, str], ...]]


def title_words(report: AuditReport) -> tuple[str, str]:
    """What there is, and how much of it is pollution."""
    among = f", {among_fact(len(report.superseded))}" if report.superseded else ""
    whole = f"{memories_words(report.rows)}{among}, {size_text(report.size)}"
    kinds = len(report.findings)
    if not kinds:
        return whole, "no pollution found"
    count, size = polluted(report)
    found = "1 kind of pollution" if kinds == 1 else f"{kinds} kinds of pollution"
    them = f"{count_text(count)} of them"
    if count == report.rows:
        them = "it" if count == 1 else "all of them"
    return f"{whole}: {found} in {them}", size_text(size)


def looked_words(looked: int, total: int | None) -> str:
    """How far the audit is; after the last row the longer half begins for many: telling duplicates."""
    if total and looked >= total:
        return f"Looked at {memories_words(looked)}, now comparing them for duplicates"
    return f"Looked at {count_text(looked)}" + (f" of {memories_words(total)}" if total is not None else " memories")


def finding_remark(finding: Finding) -> str:
    """What a finding is, and in how many groups."""
    groups = len(finding.groups)
    alike = f"{count_text(groups)} group{'' if groups == 1 else 's'} of memories that are alike. " if groups else ""
    return one_line(mask_secrets(alike + finding.remark))


def nothing_words(report: AuditReport, memory: Memory) -> EmptyWords:
    """Why there is no finding."""
    if report.rows == 0 and memory.keeps_nothing:
        return "Nothing is remembered here, so nothing can pollute it.", "", (("esc", "back"),)
    if report.rows == 0:
        return (
            "There are no memories to audit yet.",
            "What pollutes them is listed here once ZeroClaw has written some.",
            (("r", "audit again"), ("esc", "back")),
        )
    return (
        f"No pollution was found in {memories_words(report.rows)}.",
        "Looked for: replies of the assistant, recall blobs, results of tools, heartbeat and cron text, too short and "
        "too long contents, empty keys, duplicates, stale vectors, hidden text, and what looks like a secret.",
        (("r", "audit again"), ("esc", "back")),
    )


def stopped_words() -> EmptyWords:
    """What stands in the place of the findings after an audit that was stopped."""
    return "The audit was stopped.", "Nothing was changed.", (("r", "audit again"), ("esc", "back"))


def marked_words(marked: int, here: int) -> str:
    """How many memories are marked, how many of them elsewhere, and what can be done with them."""
    if not marked:
        return ""
    elsewhere = f", {count_text(marked - here)} in other findings" if marked > here else ""
    return f"● {count_text(marked)} marked{elsewhere} · d purges, c gives a category, \\ unmarks"


def merge_title(plan: MergePlan, kind: str) -> str:
    """The question of a merge."""
    groups = len(plan.groups)
    counted = "this group" if groups == 1 else f"{count_text(groups)} groups"
    return f"Merge {counted} of {kind}: {memories_words(plan.going.count)} {_go(plan.going.count)}?"


def merged_words(outcome: Outcome, plan: MergePlan) -> str:
    """What a merge did."""
    if not outcome.count:
        return _with_rest("Nothing was merged.", outcome)
    stay = len(plan.groups)
    into = memories_words(stay)
    were = "was" if outcome.count == 1 else "were"
    back = "it" if outcome.count == 1 else "them"
    return _with_rest(f"{memories_words(outcome.count)} {were} merged into {into} · u brings {back} back.", outcome)


def recategorised_words(outcome: Outcome, category: str) -> str:
    """What giving another category did."""
    if not outcome.count:
        return _with_rest("Nothing was changed.", outcome)
    are, back = ("is", "it") if outcome.count == 1 else ("are", "them")
    named = category_words(category)
    return _with_rest(f"{memories_words(outcome.count)} {are} now {named} · u takes {back} back.", outcome)


def category_words(category: str) -> str:
    """A category within a sentence."""
    shown = one_line(mask_secrets(category[: 4 * _LONGEST_NAME]))
    return (shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 1] + "…") or "(blank)"


def _go(count: int) -> str:
    return "goes" if count == 1 else "go"


def _with_rest(said: str, outcome: Outcome) -> str:
    """A sentence, and what of the plan was not done."""
    sentences = [said]
    if outcome.cancelled:
        sentences.append("It was stopped before the rest.")
    if outcome.changed:
        sentences.append(f"{count_text(len(outcome.changed))} changed meanwhile and stayed as they are.")
    if outcome.gone:
        sentences.append(f"{count_text(len(outcome.gone))} had gone already.")
    return " ".join([*sentences, *map(one_line, outcome.notes)])
