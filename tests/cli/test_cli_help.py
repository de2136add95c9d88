"""The pages of `zeroclaw memory help`, and their description of the JSON output."""

from __future__ import annotations

import re
import shlex
from functools import partial

import pytest
from support.commands import Command
from support.memories import JSON_FIELDS
from support.questions import Rule, Superseded

from zeroclaw_tui.backends.factory import CLASSES
from zeroclaw_tui.cli.onboard import onboard_parser
from zeroclaw_tui.cli.options import RULES, SUPERSEDED, inspector_parser, zeroclaw_parser
from zeroclaw_tui.cli.verbs import every_verb, memory_arguments, memory_parser, verb_parser

TOPICS = ("backends", "environment", "files", "json", "queries", "scoring")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_is_shown_without_unfilled_placeholders(run: Command, topic: str) -> None:
    answer = run("memory", "help", topic)
    assert (answer.code, answer.err) == (0, "")
    assert topic in answer.out.splitlines()[0].lower()
    assert "<!--" not in answer.out


def test_help_lists_the_pages_and_shows_the_help_of_a_verb(run: Command) -> None:
    assert all(f"  {topic} " in run("memory", "help").out for topic in TOPICS)
    assert run("memory", "help", "trash", "restore").out == run("memory", "trash", "restore", "--help").out
    assert run("memory", "help", "json", "--json").json["topic"] == "json"


PARSERS = {
    "zeroclaw": zeroclaw_parser, "zeroclaw-tui": inspector_parser, "zeroclaw onboard": onboard_parser,
    "zeroclaw memory": memory_parser,
    **{f"zeroclaw memory {each.name}": partial(verb_parser, each) for each in every_verb().values()},
}  # fmt: skip


@pytest.mark.parametrize("command", PARSERS)
def test_no_line_of_help_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = PARSERS[command]().format_help().splitlines()
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", every_verb())
def test_the_help_of_a_verb_has_two_examples_that_parse(name: str) -> None:
    verb = every_verb()[name]
    assert len(verb.examples) == 2
    for example in verb.examples:
        words = shlex.split(example)
        command = words[: words.index("<")] if "<" in words else words
        assert memory_arguments(command).verb == name
        assert f"  zeroclaw memory {example}\n" in verb_parser(verb).format_help()


COMMANDS = (
    "list", "search rust", "get pet", "recall rust", "stats", "health", "explain pet --query rust", "similar pet",
    "prompt rust", "undo --dry-run", "audit", "hygiene --dry-run", "doctor", "trash list",
    "store new text", "edit pet --category daily", "forget pet --yes",
    "purge --contains ramen --yes", "snapshot --dry-run", "erase nobody --yes", "clear --yes", "redo --dry-run",
)  # fmt: skip
"""Run in this order on one store; the last one is the first to undo something."""


def test_json_output_has_the_fields_that_its_page_names(memory: Command) -> None:
    memory("store", "before", "a text")
    for arguments in COMMANDS:
        verb = arguments.split()[0] if arguments.split()[0] != "trash" else " ".join(arguments.split()[:2])
        answer = memory(*arguments.split(), "--json")
        if "error" in answer.json:
            assert verb in ("redo",)
            continue
        document = every_verb()[verb].document
        fields, more = (re.findall(r"[a-z_]+", part) for part in document.partition("}")[::2])
        if verb == "get":
            fields, more = list(JSON_FIELDS), []
        # Each command that changes memory adds its own fields to the JSON of every change.
        assert [name for name in answer.json if name not in more or name in fields] == fields, arguments


def test_the_page_lists_exactly_the_fields_of_a_memory(run: Command, memory: Command) -> None:
    page = run("memory", "help", "json").out
    section = page[page.index("## A memory") : page.index("`get` adds")]
    assert re.findall(r"^- `(\w+)`: \S", section, re.MULTILINE) == list(memory("get", "pet", "--json").json)


def test_an_option_accepts_exactly_the_values_of_its_setting() -> None:
    assert set(RULES) == set(Rule.__args__)
    assert set(SUPERSEDED) == {str(each) for each in Superseded}


def test_the_page_of_backends_names_every_backend(run: Command) -> None:
    shown = run("memory", "help", "backends").out
    assert all(f"- `{name}`" in shown for name in CLASSES)
