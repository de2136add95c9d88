"""Which rule holds in which version, with which number, and in which words."""

from __future__ import annotations

import pytest
from hygiene_world import Place

from zeroclaw_tui.curation.hygiene_rules import HygieneRules, rules_for

FILES = ["archive memory files", "archive session files", "purge memory archives", "purge session archives"]
ROWS = ["daily rows", "core rows"]
BUDGETS = ["core budget", "daily budget"]


async def rules(place: Place) -> HygieneRules:
    async with place.opened() as library:
        return rules_for(library.config, place.version)


@pytest.mark.parametrize(
    ("version", "later"),
    [
        ("0.1.7", []),
        ("0.5.6", []),
        ("0.5.7", ["audit log"]),
        ("0.8.0", ["audit log"]),
        ("0.8.1", [*ROWS, "audit log"]),
        ("0.8.2", [*ROWS, "audit log"]),
        ("0.8.3", [*ROWS, *BUDGETS, "audit log"]),
        ("0.8.4", [*ROWS, *BUDGETS, "audit log"]),
    ],
)
async def test_a_version_has_its_own_rules(make_place, version, later):
    found = await rules(make_place(version))
    assert [rule.name for rule in found.rules] == [*FILES, "conversation rows", *later]
    assert found.reads_long_dates == (version >= "0.8.1")
    assert found.archives_any_session_file == (version < "0.8.2")
    assert found.spares_pinned == (version >= "0.8.3")


async def test_the_defaults_in_words(make_place):
    found = await rules(make_place("0.8.4"))
    assert [rule.sentence for rule in found.rules] == [
        "daily files older than 7 days are archived",
        "session files older than 7 days are archived",
        "archived daily files older than 30 days are deleted",
        "archived session files older than 30 days are deleted",
        "conversation rows older than 30 days are deleted",
        "daily rows are never deleted",
        "core rows are never deleted",
        "core rows have no limit",
        "daily rows have no limit",
        "entries of the audit log older than 30 days are deleted",
    ]
    assert [rule.is_on for rule in found.rules] == [True] * 5 + [False] * 4 + [True]


@pytest.mark.parametrize(
    ("version", "days"),
    [("0.5.6", (9, None, None)), ("0.5.7", (3, None, None)), ("0.8.0", (3, None, None)), ("0.8.1", (3, 4, 0))],
)
async def test_the_policy_wins_from_the_version_on_that_reads_it(make_place, version, days):
    place = make_place(version, conversation_retention_days=9, daily_retention_days=9, core_retention_days=9)
    with (place.config_dir / "config.toml").open("a") as config:
        config.write("[memory.policy.retention_days_by_category]\nconversation = 3\ndaily = 4\ncore = 0\n")
    found = await rules(place)
    chosen = [found.rule(name) for name in ("conversation rows", "daily rows", "core rows")]
    assert tuple(None if rule is None else rule.days for rule in chosen) == days


async def test_the_audit_log_is_pruned_where_the_audit_is_on_and_from_0_8_4_always(make_place):
    place = make_place("0.8.3", audit_retention_days=5)
    off = (await rules(place)).rule("audit log")
    assert (off.is_on, "because the audit is off" in off.sentence) == (False, True)
    place.configure(audit_retention_days=5, audit_enabled=True)
    on = (await rules(place)).rule("audit log")
    assert (on.is_on, on.days) == (True, 5)
