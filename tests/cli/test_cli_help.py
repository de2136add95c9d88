"""The pages of `zeroclaw memory help`, and what they tell of the documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from zeroclaw_tui.backends.factory import CLASSES
from zeroclaw_tui.cli.options import RERANK_STRATEGIES, RULES, SUPERSEDED
from zeroclaw_tui.cli.transfer import ALONG
from zeroclaw_tui.cli.verbs import every_verb
from zeroclaw_tui.curation import formats
from zeroclaw_tui.memory.query import Superseded
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.scoring.profiles import RerankStrategy

Run = Callable[..., Any]
TOPICS = ("backends", "environment", "files", "json", "queries", "scoring")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_is_plain_text_within_a_hundred_columns(run: Run, topic: str) -> None:
    answer = run("memory", "help", topic)
    assert (answer.code, answer.err) == (0, "")
    assert topic in answer.out.splitlines()[0].lower()
    assert not re.search(r"^#|```|<!--", answer.out, re.MULTILINE)
    assert max(map(len, (line for line in answer.out.splitlines() if not line.startswith("    ")))) <= 100


def test_help_lists_the_pages_and_shows_the_help_of_a_verb(run: Run) -> None:
    assert all(f"  {topic} " in run("memory", "help").out for topic in TOPICS)
    assert run("memory", "help", "trash", "restore").out == run("memory", "trash", "restore", "--help").out
    assert run("memory", "help", "json", "--json").json["topic"] == "json"


def test_a_narrow_window_gets_narrow_lines(run: Run) -> None:
    shown = run("memory", "help", "scoring", COLUMNS="50").out
    assert max(map(len, shown.splitlines())) <= 60


COMMANDS = (
    "list", "get pet", "recall rust", "stats", "facets", "health", "explain pet --query rust", "similar pet",
    "prompt rust", "undo --dry-run", "audit", "hygiene --dry-run", "doctor", "compact --dry-run", "trash list",
    "store new text", "edit pet --category daily", "forget pet --yes", "trash history pet",
    "purge --contains ramen --yes", "snapshot --dry-run", "erase nobody --yes", "clear --yes", "redo --dry-run",
)  # fmt: skip
"""One after the other on one store; nothing was taken back before the last."""


def test_a_document_has_the_names_that_its_page_tells(memory: Run) -> None:
    memory("store", "before", "a text")
    for arguments in COMMANDS:
        verb = arguments.split()[0] if arguments.split()[0] != "trash" else " ".join(arguments.split()[:2])
        answer = memory(*arguments.split(), "--json")
        if "error" in answer.json:
            assert verb in ("redo",)
            continue
        told = re.findall(r"[a-z_]+", every_verb()[verb].shape)
        assert [name for name in answer.json if name in told] == told, arguments


def test_the_words_an_option_takes_are_those_of_what_it_sets() -> None:
    assert set(RULES) == set(Rule.__args__)
    assert set(RERANK_STRATEGIES) == set(RerankStrategy.__args__)
    assert set(SUPERSEDED) == {str(each) for each in Superseded}
    assert formats.ALONG == ALONG


def test_the_page_of_backends_names_every_one(run: Run) -> None:
    shown = run("memory", "help", "backends").out
    assert all(f"- `{name}`" in shown for name in CLASSES)
