"""The rules of ZeroClaw's hygiene by version, and which memories they delete."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Literal, NamedTuple

from zeroclaw_tui.backends.health import Budget, Retention
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.schema import fits
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.profiles import Version, parse_version

RuleName = str
"""For example "archive memory files", "daily rows" or "core budget"."""
ROWS_SINCE: Version = (0, 8, 1)
"""The first version that deletes daily and core rows, and reports them."""
_CATEGORIES = ("conversation", "daily", "core")
_POLICY_SINCE: Version = (0, 5, 7)
_BUDGET_SINCE: Version = (0, 8, 3)
_SESSIONS_SINCE: Version = (0, 8, 2)
_AUDIT_SINCE: Version = (0, 8, 4)
"""Earlier versions have the setting, but write no audit log."""
_POLICY = "policy.retention_days_by_category"


class HygieneRule(NamedTuple):
    """One rule; `days` and `most` (rows) are None if they do not apply, `most_characters` limits core contents."""

    name: RuleName
    sentence: str
    is_on: bool
    days: int | None = None
    most: int | None = None
    most_characters: int | None = None

    @property
    def item_noun(self) -> str:
        """The kind of item that the rule archives or deletes: file, entry or row."""
        if self.name.startswith(("archive", "purge")):
            return "file"
        return "entry" if self.name == "audit log" else "row"


class Cutoff(NamedTuple):
    """The time before which items are old: ZeroClaw subtracts days from the local date, and hours from the clock.

    `day` is None if it is before year 1. `text` is RFC 3339 in local time, compared as text regardless of the offset.
    """

    day: date | None
    nanoseconds: int
    text: str


def cutoff_at(as_of: datetime, days: int) -> Cutoff:
    """Make the cutoff that is some days before a given time."""
    now = as_of.astimezone()
    since = now - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = (since.days - days) * 86_400 + since.seconds
    nanoseconds = seconds * 1_000_000_000 + since.microseconds * 1000
    try:
        day = now.date() - timedelta(days=days)
        moment = (now.astimezone(UTC) - timedelta(days=days)).astimezone()
    except OverflowError:
        return Cutoff(None, nanoseconds, "")
    # ZeroClaw's library omits trailing groups of three zero digits.
    fraction = moment.microsecond
    digits = "microseconds" if fraction % 1000 else "milliseconds" if fraction else "seconds"
    return Cutoff(day, nanoseconds, moment.isoformat(timespec=digits))


class HygieneRules(NamedTuple):
    """The rules of one version with one config, and the behaviour of that version.

    Since 0.8.1 the first ten characters of a name are its date, as in 2026-03-28-1442.md (`reads_long_dates`). Up to
    0.8.1 every file in sessions/ is archived, later only dated ones and JSON lines. Since 0.8.3 pinned rows stay.
    """

    version: str
    is_enabled: bool
    rules: tuple[HygieneRule, ...]
    reads_long_dates: bool
    archives_any_session_file: bool
    spares_pinned: bool
    evict_order: Literal["value", "oldest"]

    def rule(self, name: RuleName) -> HygieneRule | None:
        """The rule with this name; None if this version does not have it."""
        return next((rule for rule in self.rules if rule.name == name), None)

    def cutoff(self, name: RuleName, as_of: datetime) -> Cutoff | None:
        """The cutoff of a rule; None if the rule is off."""
        rule = self.rule(name)
        return cutoff_at(as_of, rule.days) if rule is not None and rule.is_on and rule.days is not None else None

    def retention(self, as_of: datetime) -> Retention:
        """The rules for rows, in the form in which the database applies them."""
        cutoffs = {category: self.cutoff(f"{category} rows", as_of) for category in _CATEGORIES}
        budgets = {name: rule for name in _CATEGORIES if (rule := self.rule(f"{name} budget")) and rule.is_on}
        return Retention(
            {category: cutoff.text for category, cutoff in cutoffs.items() if cutoff is not None and cutoff.text},
            {name: Budget(rule.most or 0, rule.most_characters or 0) for name, rule in budgets.items()},
            self.spares_pinned,
            self.evict_order,
        )


def rules_for(config: MemoryConfig, version: str) -> HygieneRules:
    """Make the rules of a version of ZeroClaw with a config. Raises UsageError for an invalid version."""
    v = parse_version(version)
    archive, purge = config.archive_after_days, config.purge_after_days
    rules = [
        _rule_by_age("archive memory files", "daily files", "archived", archive),
        _rule_by_age("archive session files", "session files", "archived", archive),
        _rule_by_age("purge memory archives", "archived daily files", "deleted", purge),
        _rule_by_age("purge session archives", "archived session files", "deleted", purge),
    ]
    policy = config.value(_POLICY) if v >= _POLICY_SINCE else {}
    if not all(fits("count", days) for days in policy.values()):
        policy = {}
    for category in _CATEGORIES if v >= ROWS_SINCE else _CATEGORIES[:1]:
        days = int(policy.get(category, getattr(config, f"{category}_retention_days")))
        rules.append(_rule_by_age(f"{category} rows", f"{category} rows", "deleted", days))
    evict_order: Literal["value", "oldest"] = "oldest" if config.value("evict_order") == "oldest" else "value"
    if v >= _BUDGET_SINCE:
        core, size = int(config.value("core_max_rows")), int(config.value("core_max_bytes"))
        rules.append(_budget_rule("core budget", "core rows", evict_order, core, size))
        rules.append(_budget_rule("daily budget", "daily rows", evict_order, int(config.value("daily_max_rows"))))
    if v >= _AUDIT_SINCE:
        days = int(config.value("audit_retention_days"))
        rules.append(_rule_by_age("audit log", "entries of the audit log", "deleted", days))
    return HygieneRules(
        version=version,
        is_enabled=config.hygiene_enabled,
        rules=tuple(rules),
        reads_long_dates=v >= ROWS_SINCE,
        archives_any_session_file=v < _SESSIONS_SINCE,
        spares_pinned=v >= _BUDGET_SINCE,
        evict_order=evict_order,
    )


def _rule_by_age(name: RuleName, things: str, done: str, days: int) -> HygieneRule:
    sentence = f"{things} older than {counted(days, 'day')} are {done}" if days else f"{things} are never {done}"
    return HygieneRule(name, sentence, bool(days), days=days)


def _budget_rule(name: RuleName, rows: str, order: str, most: int, characters: int = 0) -> HygieneRule:
    limits = [f"{most:,} {rows}"] * (most > 0) + [f"{characters:,} characters of {rows}"] * (characters > 0)
    first = "the oldest" if order == "oldest" else "the least important"
    sentence = f"at most {' and '.join(limits)} stay, {first} are deleted first" if limits else f"{rows} have no limit"
    return HygieneRule(name, sentence, bool(limits), most=most or None, most_characters=characters or None)
