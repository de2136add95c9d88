"""The pages of `zeroclaw memory help`, and what they tell of the documents."""

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
from zeroclaw_tui.cli.verbs import CHANGED, every_verb, memory_arguments, memory_parser, verb_parser

TOPICS = ("backends", "environment", "files", "json", "queries", "scoring")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_is_shown_with_nothing_left_to_fill_in(run: Command, topic: str) -> None:
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
"""One after the other on one store; nothing was undone before the last."""


def test_a_document_has_the_names_that_its_page_tells(memory: Command) -> None:
    memory("store", "before", "a text")
    for arguments in COMMANDS:
        verb = arguments.split()[0] if arguments.split()[0] != "trash" else " ".join(arguments.split()[:2])
        answer = memory(*arguments.split(), "--json")
        if "error" in answer.json:
            assert verb in ("redo",)
            continue
        message = list(JSON_FIELDS) if verb == "get" else re.findall(r"[a-z_]+", every_verb()[verb].shape)
        # What changes memory adds names of its own to the document of every change.
        names = (
            [name for name in answer.json if name in message]
            if every_verb()[verb].shape == CHANGED
            else list(answer.json)
        )
        assert names == message, arguments


def test_the_page_lists_every_field_of_a_memory_and_no_other(run: Command, memory: Command) -> None:
    page = run("memory", "help", "json").out
    section = page[page.index("## A memory") : page.index("`get` adds")]
    assert re.findall(r"^- `(\w+)`: \S", section, re.MULTILINE) == list(memory("get", "pet", "--json").json)


def test_the_words_an_option_takes_are_those_of_what_it_sets() -> None:
    assert set(RULES) == set(Rule.__args__)
    assert set(SUPERSEDED) == {str(each) for each in Superseded}


def test_the_page_of_backends_names_every_one(run: Command) -> None:
    shown = run("memory", "help", "backends").out
    assert all(f"- `{name}`" in shown for name in CLASSES)
