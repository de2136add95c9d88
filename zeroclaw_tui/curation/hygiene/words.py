"""Hygiene in words that command line and terminal share: whether it is on, when it ran and runs, what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.hygiene.plan import INTERVAL_HOURS, HygieneItem, HygienePlan, HygieneState
from zeroclaw_tui.curation.hygiene.rules import RuleName
from zeroclaw_tui.memory.text import counted

FILE_RULES: frozenset[RuleName] = frozenset(
    ("archive memory files", "archive session files", "purge memory archives", "purge session archives")
)
ARCHIVING: frozenset[RuleName] = frozenset(("archive memory files", "archive session files"))
SHORT: Mapping[RuleName, str] = {
    "archive memory files": "archive",
    "archive session files": "archive",
    "purge memory archives": "delete",
    "purge session archives": "delete",
    "conversation rows": "conversation",
    "daily rows": "daily",
    "core rows": "core",
    "core budget": "core budget",
    "daily budget": "daily budget",
    "audit log": "audit log",
}
"""A rule in a word or two, beside the thing it takes."""

COMES_AGAIN = (
    "ZeroClaw does this hygiene itself when it next starts, unless the rules change: enter on a rule of hygiene (H), "
    "or [memory] in config.toml."
)
"""What is to be known after a run was taken back: its rules still hold."""

_REPORTED = (
    ("file", "archived", ("archived_memory_files", "archived_session_files")),
    ("file", "deleted", ("purged_memory_archives", "purged_session_archives")),
    ("row", "deleted", ("pruned_conversation_rows", "pruned_daily_rows", "pruned_core_rows")),
)


def on_words(plan: HygienePlan) -> str:
    """Whether ZeroClaw does it by itself."""
    if plan.rules.is_enabled:
        return f"on, every {INTERVAL_HOURS} h"
    return "off: ZeroClaw does none of this by itself"


def last_words(state: HygieneState, now: datetime) -> str:
    """When it ran last, and by whom."""
    if state.last_run is None:
        return "last run not known" if state.problem else "never run"
    return f"last {clock_words(state.last_run, now, whole=True)} by {'this program' if state.by_us else 'ZeroClaw'}"


def due_words(plan: HygienePlan, now: datetime) -> str:
    """When the agent will do it next; "" where it never does."""
    if not plan.rules.is_enabled:
        return ""
    due = plan.state.due
    if due is None or due <= now:
        return "next when the agent starts"
    return f"next when the agent starts after {clock_words(due, now)}"


def report_words(report: Mapping[str, int]) -> str:
    """What the last run did, by the counts of its report that are not 0; "nothing had to go" where all are."""
    done = [
        f"{counted(count, thing)} {did}"
        for thing, did, names in _REPORTED
        if (count := sum(report.get(name, 0) for name in names))
    ]
    return ", ".join(done) or "nothing had to go"


def clock_words(then: datetime, now: datetime, *, whole: bool = False) -> str:
    """A moment on the clock that `now` is on; the date is left out where it is the same day and `whole` is not set."""
    local = then.astimezone(now.tzinfo)
    if not whole and local.date() == now.date():
        return f"{local:%H:%M}"
    return f"{local:%Y-%m-%d %H:%M}"


def thing_of(rule: RuleName) -> str:
    """What a rule takes."""
    return "file" if rule in FILE_RULES else "entry" if rule == "audit log" else "row"


def doing_words(items: Iterable[HygieneItem], rows_go: str = "to the trash") -> tuple[str, ...]:
    """What a run of these items does, a fact each: files archived, files deleted, rows, entries of the audit log.

    `rows_go` is "deleted" where it is ZeroClaw that runs.
    """
    archived = deleted = rows = entries = 0
    for item in items:
        archived += item.rule in ARCHIVING
        deleted += item.and_purged or (item.rule in FILE_RULES and item.rule not in ARCHIVING)
        rows += item.rule not in FILE_RULES and item.rule != "audit log"
        entries += item.rule == "audit log"
    facts = (
        (archived, f"{counted(archived, 'file')} archived"),
        (deleted, f"{counted(deleted, 'file')} deleted"),
        (rows, f"{counted(rows, 'row')} {rows_go}"),
        (entries, f"{counted(entries, 'entry')} of the audit log deleted"),
    )
    return tuple(words for count, words in facts if count)


def fate_words(item: HygieneItem) -> str:
    """The same in a column: where a file goes without the folder that all of its rule share; clean it, too."""
    if item.target is None:
        return "to the trash" if thing_of(item.rule) == "row" else "deleted"
    folder, slash, name = item.target.rpartition("/")
    return f"→ {folder.rpartition('/')[2]}{slash}{name}{', then deleted' if item.and_purged else ''}"


def effect_of(item: HygieneItem) -> str:
    """What happens to one thing, for people; clean it before it is shown."""
    if item.target is not None:
        return f"archived as {item.target}{', then deleted in the same run' if item.and_purged else ''}"
    if item.rule in FILE_RULES:
        return "deleted"
    return "deleted from the audit log" if item.rule == "audit log" else "deleted by ZeroClaw, to the trash here"


def without_of(items: Sequence[HygieneItem], left_out: Iterable[str]) -> tuple[HygieneItem, ...]:
    """The items but those of these ids."""
    out = frozenset(left_out)
    return tuple(item for item in items if item.id not in out)


def is_taken_back_hygiene(outcome: Outcome) -> bool:
    """Whether an undo took a run of hygiene back."""
    return outcome.undone is not None and outcome.undone.verb == "hygiene"
