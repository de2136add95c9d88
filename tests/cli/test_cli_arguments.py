"""Options mean the same before and after the verb, and a wrong one is reported in a sentence."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from zeroclaw_tui.cli.options import first_word, inspector_parser, open_options
from zeroclaw_tui.cli.verbs import memory_arguments


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
def test_an_option_before_the_verb_means_what_it_means_after(verb: str, options: tuple[str, ...]) -> None:
    words = verb.split()
    before, after = _parsed(*options, *words), _parsed(*words, *options)
    assert open_options(before) == open_options(after)
    assert (before.json, before.yes) == (after.json, after.yes) == ("--json" in options, "--yes" in options)
    if options[0] not in ("--json", "--yes"):
        assert open_options(after) != open_options(_parsed(*words))


def test_keys_that_look_like_options() -> None:
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
def test_the_first_word_is_no_option_and_no_value(arguments: tuple[str, ...], at: int | None) -> None:
    assert first_word(arguments) == at


def test_the_inspector_takes_one_path_and_the_same_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    options = open_options(inspector_parser().parse_args(["~/brain.db", "--agent", "main", "--profile", "0.8.4"]))
    assert (options.path, options.agent, options.profile) == (Path("/home/ada/brain.db"), "main", "0.8.4")
