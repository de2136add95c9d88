"""Which rule holds in which version, with which number, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hygiene_world import Place

from zeroclaw_tui.curation.hygiene.rules import HygieneRules, rules_of

Make = Callable[..., Place]
FILES = ["archive memory files", "archive session files", "purge memory archives", "purge session archives"]
ROWS = ["daily rows", "core rows"]
BUDGETS = ["core budget", "daily budget"]


async def rules(place: Place) -> HygieneRules:
    async with place.opened() as library:
        return rules_of(library)


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
async def test_a_version_has_its_own_rules(make_place: Make, version: str, later: list[str]) -> None:
    found = await rules(make_place(version))
    assert [rule.name for rule in found.rules] == [*FILES, "conversation rows", *later]
    assert found.reads_long_dates == (version >= "0.8.1")
    assert found.archives_any_session_file == (version < "0.8.2")
    assert found.spares_pinned == (version >= "0.8.3")


async def test_the_defaults_in_words(make_place: Make) -> None:
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


async def test_what_is_off_says_so(make_place: Make) -> None:
    place = make_place("0.1.7", archive_after_days=0, purge_after_days=1, conversation_retention_days=0)
    assert [(rule.sentence, rule.is_on) for rule in (await rules(place)).rules] == [
        ("daily files are never archived", False),
        ("files in sessions/ are never archived", False),
        ("archived daily files older than 1 day are deleted", True),
        ("archived session files older than 1 day are deleted", True),
        ("conversation rows are never deleted", False),
    ]


@pytest.mark.parametrize(
    ("version", "days"),
    [("0.5.6", (9, None, None)), ("0.5.7", (3, None, None)), ("0.8.0", (3, None, None)), ("0.8.1", (3, 4, 0))],
)
async def test_the_policy_wins_from_the_version_on_that_reads_it(
    make_place: Make, version: str, days: tuple[int | None, ...]
) -> None:
    place = make_place(version, conversation_retention_days=9, daily_retention_days=9, core_retention_days=9)
    with (place.config_dir / "config.toml").open("a") as config:
        config.write("[memory.policy.retention_days_by_category]\nconversation = 3\ndaily = 4\ncore = 0\n")
    found = await rules(place)
    held = [found.rule(name) for name in ("conversation rows", "daily rows", "core rows")]
    assert tuple(None if rule is None else rule.days for rule in held) == days
    if version != "0.5.6":
        assert held[0] is not None
        assert held[0].keys == ("memory.policy.retention_days_by_category.conversation",)


async def test_the_audit_log_is_pruned_where_the_audit_is_on_and_from_0_8_4_always(make_place: Make) -> None:
    place = make_place("0.8.3", audit_retention_days=5)
    off = (await rules(place)).rule("audit log")
    assert off is not None
    assert not off.is_on
    assert "because the audit is off" in off.sentence
    place.configure(audit_retention_days=5, audit_enabled=True)
    on = (await rules(place)).rule("audit log")
    assert on is not None
    assert on.is_on
    assert on.days == 5


async def test_budgets_in_words(make_place: Make) -> None:
    place = make_place("0.8.3", core_max_rows=1500, core_max_bytes=9000, daily_max_rows=20, evict_order="oldest")
    found = await rules(place)
    core, daily = found.rule("core budget"), found.rule("daily budget")
    assert core is not None
    assert daily is not None
    assert (
        core.sentence
        == "at most 1,500 core rows and 9,000 characters of core rows are kept, the oldest are deleted first"
    )
    assert daily.sentence == "at most 20 daily rows are kept, the oldest are deleted first"
    assert (core.most, core.most_bytes, daily.most) == (1500, 9000, 20)


async def test_a_value_of_a_wrong_type_counts_as_its_default_and_hygiene_that_is_off_has_its_rules(
    make_place: Make,
) -> None:
    found = await rules(make_place("0.8.4", core_max_rows="many", audit_retention_days=True, hygiene_enabled=False))
    core = found.rule("core budget")
    assert core is not None
    assert not core.is_on
    assert (found.days("audit log"), found.days("conversation rows"), found.is_enabled) == (30, 30, False)
