"""`memory evaluate`: figures for people and as a document, before and after, and every way it can be used wrongly."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.http_endpoints import Answer, after, embeddings, serving
from support.terminal import Terminal

Run = Callable[..., Any]
SAMPLE = """\
[[query]]
query = "what about zebras?"
expected = "food_allergy"

[[query]]
query = "Rust"
expected = ["lang", "food"]

[[query]]
name = "time zone, in the chat"
query = "Timezone"
expected = "tz"
session = "tg_1"
"""
AS_OF = ("--as-of", "2026-03-06T00:00:00Z")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "golden.toml"
    path.write_text(SAMPLE)
    return str(path)


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("✓", "✗"))]


def test_the_table_has_the_worst_first_and_the_figures_in_all(memory: Run, file: str) -> None:
    answer = memory("evaluate", file, *AS_OF)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == f"3 queries of {file}"
    assert "worst first" in answer.out
    rows = _rows(answer.out)
    assert " ".join(rows[0].split()) == "✗ miss – 0.00 no what about zebras? expected food_allergy"
    assert [row.split("yes")[-1].strip() for row in rows[1:]] == ["Rust", "time zone, in the chat"]
    assert [re.split(r"\s{2,}", line)[:2] for line in answer.out.splitlines()[-4:]] == [
        ["hit rate", "0.67"],
        ["MRR", "0.67"],
        ["nDCG@5", "0.67"],
        ["prompt rate", "0.67"],
    ]


def test_the_document(memory: Run, file: str) -> None:
    document = memory("evaluate", file, "--json", "--limit", "3", *AS_OF).json
    assert (document["file"], document["k"], document["queries"], document["difference"]) == (file, 3, 3, None)
    (run,) = document["runs"]
    assert (run["label"], run["profile"], run["threshold"]) == ("as it is", "0.7.5", 0.4)
    assert run["weights"] == {"vector": 0.7, "keyword": 0.3}
    assert run["hit_rate"] == run["mrr"] == run["ndcg"] == run["prompt_rate"] == pytest.approx(2 / 3)
    rust = run["queries"][1]
    assert rust == {
        "name": "Rust",
        "query": "Rust",
        "session": None,
        "agent": None,
        "channel": None,
        "expected": ["lang", "food"],
        "rejected": [],
        "recalled": ["lang", "food"],
        "injected": ["lang", "food"],
        "hit": True,
        "reciprocal_rank": 1.0,
        "ndcg": 1.0,
        "in_prompt": True,
        "passed": True,
        "missing": [],
        "unwanted": [],
    }


def test_a_what_if_stands_beside_what_is_and_says_what_it_changes(memory: Run, file: str) -> None:
    answer = memory("evaluate", file, "--threshold", "50", *AS_OF)
    assert answer.code == 0
    assert "as it is: scoring 0.7.5 · weights 0.7 / 0.3 · threshold 0.4\n" in answer.out
    assert "what if: scoring 0.7.5 · weights 0.7 / 0.3 · threshold 50\n" in answer.out
    assert [("yes → no" in row) for row in _rows(answer.out)] == [True, True, False]
    assert re.search(r"prompt rate +0\.67 +0\.00 +-0\.67", answer.out)
    document = memory("evaluate", file, "--threshold", "50", "--json", *AS_OF).json
    assert [run["label"] for run in document["runs"]] == ["as it is", "what if"]
    assert document["difference"] == {"hit_rate": 0.0, "mrr": 0.0, "ndcg": 0.0, "prompt_rate": pytest.approx(-2 / 3)}


@pytest.mark.parametrize("changes", [("--vector-weight", "1"), ("--keyword-weight", "1"), ("--search-mode", "bm25")])
def test_every_what_if_option_makes_two_runs(memory: Run, file: str, changes: tuple[str, str]) -> None:
    document = memory("evaluate", file, "--json", *changes, *AS_OF).json
    before, after = document["runs"]
    settings = ("weights", "search_mode", "as_of")
    assert [before[name] for name in settings] != [after[name] for name in settings]


def test_versions_side_by_side(memory: Run, file: str) -> None:
    answer = memory("evaluate", file, "--against", "0.8.4")
    assert re.search(r"scoring 0\.7\.5 +scoring 0\.8\.4 +difference", answer.out)
    document = memory("evaluate", file, "--profile", "0.6.2", "--against", "v0.8.4", "--json").json
    assert [run["profile"] for run in document["runs"]] == ["0.6.2", "0.8.4"]
    assert document["difference"] is not None


def test_a_version_and_other_numbers_do_not_go_together(memory: Run, file: str) -> None:
    answer = memory("evaluate", file, "--against", "0.8.4", "--threshold", "0.3")
    assert (answer.code, answer.raw) == (2, b"")
    assert "change two things at once" in answer.err
    assert memory("evaluate", file, "--against", "newest").code == 2
    assert memory("evaluate", file, "--threshold", "nan").code == 2


def test_keys_nobody_has_are_named_and_count_as_missed(memory: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query": "Rust", "expected": ["lang", "zebra", "\\u001b[31m"]}\n')
    answer = memory("evaluate", str(path))
    assert answer.code == 0
    assert 'no memory has these keys: "zebra", "␛[31m". The figures count that as missed.' in answer.err
    document = memory("evaluate", str(path), "--json").json
    assert document["keys_nobody_has"] == ["zebra", "\x1b[31m"]
    assert 0 < document["runs"][0]["ndcg"] < 1


def test_a_query_of_a_session_is_recalled_in_it(memory: Run) -> None:
    lines = b'{"query": "Rust", "expected": "lang"}\n{"query": "Rust", "expected": "lang", "session": "elsewhere"}\n'
    queries = memory("evaluate", "-", "--json", stdin=lines).json["runs"][0]["queries"]
    assert [figures["hit"] for figures in queries] == [True, False]


def test_where_nothing_is_weighed_no_weights_are_told(memory: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("- **lang**: User prefers Rust\n")
    query = b'{"query": "Rust", "expected": "lang"}\n'
    answer = memory("evaluate", "-", "--backend", "markdown", "--location", str(tmp_path / "notes"), stdin=query)
    assert "as it is: scoring 0.8.4 · threshold 0.4" in answer.out
    assert "weights 0.7 / 0.3" in memory("evaluate", "-", stdin=query).out


def test_jsonl_from_stdin(memory: Run) -> None:
    lines = b'{"query": "Rust", "expected": "lang"}\n{"query": "Mio", "expected": "pet"}\n'
    document = memory("evaluate", "-", "--json", stdin=lines).json
    assert (document["queries"], document["runs"][0]["hit_rate"]) == (2, 1.0)
    assert memory("evaluate", "-", stdin=lines).out.startswith("2 queries of stdin\n")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"query": "Rust"}\n', 'Line 1 of {path}: "expected" is missing.'),
        ('{"query": "Rust", "expected": "lang", "k": 3}\n', 'Line 1 of {path}: there is no "k".'),
        ("", "{path} is empty."),
    ],
)
def test_a_broken_file_is_one_sentence_and_what_to_write(
    memory: Run, tmp_path: Path, content: str, sentence: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    answer = memory("evaluate", str(path))
    assert (answer.code, answer.raw) == (2, b"")
    assert f"zeroclaw: {sentence.format(path=path)}\n" in answer.err
    assert "expected" in answer.err.splitlines()[-1]


def test_a_directory_and_a_file_that_is_not_there(memory: Run, tmp_path: Path) -> None:
    for place, why in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file or directory")):
        answer = memory("evaluate", str(place))
        assert answer.code == 2
        assert f"{place} cannot be read: {why}." in answer.err


def test_names_cannot_steer_the_terminal_and_nothing_is_wider_than_it(install: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    name = "\x1b]0;owned\x07 " + "long name " * 40
    path.write_text(json.dumps({"query": "zebra", "expected": ["lang"] * 9, "name": name}))
    argv = [str(Path(sys.executable).parent / "zeroclaw"), "memory", "--config-dir", str(install)]
    argv += ["evaluate", str(path), "--threshold", "0.9"]
    with Terminal(argv, env={**os.environ, "PATH": "/usr/bin:/bin"}) as screen:
        screen.wait_for("prompt rate")
        assert screen.wait_exit() == 0
        (row,) = _rows(screen.text)
        assert "␛]0;owned␇ long name" in row
        assert row.endswith("…")
        assert b"\x1b]0;owned" not in screen.raw
        totals = [line for line in screen.rows if line.startswith(("hit rate", "MRR", "nDCG@5 ", "prompt rate"))]
        assert len(totals) == 4


def test_on_a_terminal_it_shows_how_far_it_is_and_wipes_that_away(install: Path, file: str) -> None:
    argv = [str(Path(sys.executable).parent / "zeroclaw"), "memory", "--config-dir", str(install), "evaluate", file]
    with serving(after(0.3, embeddings(4))) as endpoint:
        with (install / "config.toml").open("a") as config:
            config.write(f'embedding_provider = "custom:{endpoint.base}"\nembedding_dimensions = 4\n')
        with Terminal(argv, env={**os.environ, "PATH": "/usr/bin:/bin"}) as screen:
            screen.wait_for("prompt rate")
            assert screen.wait_exit() == 0
            assert "Recalling 1 of 3 …".encode() in screen.raw
            assert "Recalling" not in screen.text
        assert len(endpoint.requests) == 1


def test_the_help_shows_a_file_that_works(memory: Run, tmp_path: Path) -> None:
    told = memory("evaluate", "--help").out
    sample = told[told.index("  [[query]]") : told.index('  {"query"')]
    path = tmp_path / "sample.toml"
    path.write_text("\n".join(line.strip() for line in sample.splitlines()))
    document = memory("evaluate", str(path), "--json").json
    assert [query["name"] for query in document["runs"][0]["queries"]] == [
        "what does she like to eat?",
        "time zone, in the chat",
    ]
    (line,) = [line for line in told.splitlines() if line.startswith('  {"query"')]
    assert memory("evaluate", "-", "--json", stdin=line.encode()).json["queries"] == 1


def test_ctrl_c_ends_it_with_130_and_no_traceback(install: Path, file: str) -> None:
    asked = threading.Event()
    ended = threading.Event()

    def hangs(path: str, headers: Any, body: Any) -> Answer:
        asked.set()
        ended.wait(60)
        return 500, b""

    with serving(hangs) as endpoint:
        with (install / "config.toml").open("a") as config:
            config.write(f'embedding_provider = "custom:{endpoint.base}"\nembedding_dimensions = 4\n')
        child = subprocess.Popen(
            [str(Path(sys.executable).parent / "zeroclaw"), "memory", "evaluate", "--config-dir", str(install), file],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert asked.wait(60)
        child.send_signal(signal.SIGINT)
        out, told = child.communicate(timeout=60)
        ended.set()
    assert (child.returncode, out) == (130, b"")
    assert b"Traceback" not in told
