"""`zeroclaw memory similar` as a process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.small_store import blob, make
from support.warm_start import run_memory

HOSTILE = "rust\x1b]0;owned\x07 \u202e coloured plates"


@pytest.fixture
def run(tmp_path: Path) -> Any:
    make(
        tmp_path / "brain.db",
        "G1",
        (
            {"key": "ramen", "content": "Likes ramen and rust coloured plates", "embedding": blob(1, 0)},
            {"key": "noodles", "content": "Eats noodles", "embedding": blob(0.6, 0.8)},
            {"key": "hostile", "content": HOSTILE},
        ),
    )

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run_memory("--location", str(tmp_path / "brain.db"), *arguments, stdin=stdin)

    return run


def test_by_vector_as_a_table_and_as_a_document(run: Any) -> None:
    shown = run("similar", "ramen")
    assert shown.returncode == 0
    assert "2 compared by the cosine of their embeddings" in shown.stdout
    assert "0.60" in shown.stdout
    assert shown.stderr == ""
    document = json.loads(run("similar", "ramen", "--json").stdout)
    assert [(found["key"], round(found["score"], 2)) for found in document["results"]] == [("noodles", 0.6)]


def test_by_words_it_says_so_on_stderr_and_shows_what_is_shared(run: Any) -> None:
    shown = run("similar", "hostile")
    assert "Compared by shared rare words: This memory has no vector." in shown.stderr
    assert "both have " in shown.stdout
    assert "\x1b]0" not in shown.stdout
    assert "\u202e" not in run("similar", "ramen", "--limit", "1").stdout


@pytest.mark.parametrize("asked", [("ramen",), ("--query", "noodles with tea")])
def test_of_an_agent_the_nearest_are_found_behind_nearer_ones_of_others(tmp_path: Path, asked: tuple[str, ...]) -> None:
    own: list[dict[str, Any]] = [
        {"key": "ramen", "content": "Likes ramen", "embedding": blob(1, 0), "agent": "writer"},
        {"key": "udon", "content": "noodles with tea daily", "embedding": blob(0.6, 0.8), "agent": "writer"},
    ]
    others = [{"key": f"k{at}", "content": "noodles with tea", "embedding": blob(1, 0.01)} for at in range(60)]
    others += [{"key": f"k{at}", "content": f"plain{at}"} for at in range(60, 260)]
    store = make(tmp_path / "agents.db", "G4", [*own, *others])
    answer = run_memory("--location", str(store), "similar", *asked, "--limit", "1", "--agent", "writer", "--json")
    assert [near["key"] for near in json.loads(answer.stdout)["results"]] == ["udon"]


def test_a_text_on_stdin(run: Any) -> None:
    assert "noodles" in run("similar", "--query", "-", stdin="noodles\n").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("similar",), 2, "No memory given."),
        (("similar", "ramen", "--query", "tea"), 2, "Both a memory and a text are given."),
        (("similar", "--query", "  "), 2, "The text is blank."),
        (("similar", "nobody"), 1, "nobody"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_sentence(
    run: Any, arguments: tuple[str, ...], code: int, said: str
) -> None:
    answer = run(*arguments)
    assert answer.returncode == code
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr
