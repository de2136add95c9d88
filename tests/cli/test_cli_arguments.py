"""Options work before and after the verb; a time is an age, a date or RFC 3339."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.memories import UsageError

from zeroclaw_tui.cli.options import index_of_first_word, inspector_parser, open_options, parse_bound, parse_time
from zeroclaw_tui.cli.verbs import memory_arguments
from zeroclaw_tui.memory.days import moment


def _parsed(*arguments: str) -> argparse.Namespace:
    return memory_arguments(arguments)


@pytest.mark.parametrize(
    "options",
    [
        ("--config-dir", "/c"), ("--workspace=/w",), ("--backend", "markdown", "--location", "/m"),
        ("--profile", "0.7.5"), ("--json",), ("--yes",), ("--read-only",),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "verb",
    [
        "list", "store key text", "trash list"
    ],
)  # fmt: skip
def test_options_work_before_and_after_the_verb(verb: str, options: tuple[str, ...]) -> None:
    words = verb.split()
    before, after = _parsed(*options, *words), _parsed(*words, *options)
    assert open_options(before) == open_options(after)
    assert (before.json, before.yes) == (after.json, after.yes) == ("--json" in options, "--yes" in options)
    if options[0] not in ("--json", "--yes"):
        assert open_options(after) != open_options(_parsed(*words))


@pytest.mark.parametrize("name", ["--config-dir", "--workspace", "--backend", "--location"])
def test_an_empty_value_does_not_mean_the_default_store(name: str) -> None:
    with pytest.raises(UsageError, match="is empty"):
        open_options(_parsed("list", name, ""))


def test_keys_may_look_like_options() -> None:
    assert _parsed("get", "--json", "--", "--json").key == "--json"
    assert _parsed("get", "").key == ""
    assert _parsed("get", "--id=-x").id == "-x"
    assert _parsed("recall", "--", "-1", "degrees").query == ["-1", "degrees"]


@pytest.mark.parametrize(
    ("arguments", "at"),
    [
        (("memory", "list"), 0), (("--config-dir", "memory", "memory"), 2), (("--config-dir=/x", "memory"), 1),
        (("--json", "memory"), 1), (("--agent", "a"), None), ((), None),
    ],
)  # fmt: skip
def test_the_verb_is_the_first_word_that_is_no_option_or_value(arguments: tuple[str, ...], at: int | None) -> None:
    assert index_of_first_word(arguments) == at


def test_the_inspector_accepts_one_path_and_the_same_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    options = open_options(inspector_parser().parse_args(["~/brain.db", "--agent", "main", "--profile", "0.8.4"]))
    assert (options.path, options.agent, options.profile) == (Path("/home/ada/brain.db"), "main", "0.8.4")


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("30d", "2026-10-22T12:00:00+00:00"),
        ("12h", "2026-11-21T00:00:00+00:00"),
        ("2W", "2026-11-07T12:00:00+00:00"),
        (" 0d ", "2026-11-21T12:00:00+00:00"),
    ],
)
def test_an_age_counts_back_from_now(typed: str, meant: str) -> None:
    assert parse_time(typed, NOW) == meant
    assert parse_bound(typed, NOW) == meant


@pytest.mark.parametrize("typed", ["2026-03-01T10:00:00+02:00", "2026-03-01T10:00:00.123456789Z"])
def test_rfc_3339_is_used_unchanged(typed: str) -> None:
    assert parse_time(typed, NOW) == typed
    assert parse_bound(typed, NOW) == typed


def test_a_time_without_offset_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert moment(parse_time("2026-03-01", NOW)) == datetime(2026, 3, 1, 5, tzinfo=UTC)
        assert moment(parse_time("2026-07-01 10:00", NOW)) == datetime(2026, 7, 1, 14, tzinfo=UTC)
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def test_a_time_bound_of_recall_stays_the_text_that_zeroclaw_compares() -> None:
    assert parse_bound("2026-03-01", NOW) == "2026-03-01"


@pytest.mark.parametrize("typed", ["", "soon", "30", "30x", "-3d", "2026-13-01", "9999999w", "d", "1e3d", "٣d0"])
def test_any_other_time_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        parse_time(typed, NOW)
