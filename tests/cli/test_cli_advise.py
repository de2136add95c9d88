"""`memory advise`: what was measured, as a document and for people, and written when that is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
# A memory of the category daily, 16 days old, has a fifth of its score left, and 0.4 keeps it out.
LATER = ("--profile", "0.8.4", "--as-of", "2026-03-20T10:00:00Z")
TESTS = "".join(f'[[query]]\nquery = "Timezone {number}"\nexpected = "tz"\n\n' for number in range(40))
UNREACHED = '[[query]]\nquery = "zebra"\nexpected = "pet"\n'


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "tests-of-recall.toml"
    path.write_text(TESTS + UNREACHED)
    return str(path)


def test_the_document_says_what_was_measured(memory: Run, file: str) -> None:
    answer = memory("advise", file, *LATER, "--json")
    assert answer.code == 0
    found = answer.json
    assert list(found) == [
        "file", "tests", "held_out", "settings_tried", "today", "levers", "advice", "why_none", "ceiling", "notes",
    ]  # fmt: skip
    assert (found["tests"], found["today"]["passed"]) == (41, 0)
    assert found["advice"]["settings"].keys() == {"memory.min_relevance_score"}
    assert found["advice"]["low"] > 0
    assert found["advice"]["lost"] == []
    assert found["ceiling"]["reachable"] == 40
    assert found["ceiling"]["out_of_reach"][0]["keys"] == ["pet"]
    assert {lever["lever"] for lever in found["levers"]} >= {"threshold", "rerank", "limit", "version"}


def test_people_read_today_levers_advice_and_ceiling(memory: Run, file: str, install: Path) -> None:
    before = (install / "config.toml").read_bytes()
    answer = memory("advise", file, *LATER)
    assert answer.code == 0
    assert "Today 0 of 41 pass" in answer.out
    assert re.search(r"\ngain: how much larger a share of the \d+ held-out tests passes", answer.out)
    assert "Advised: min_relevance_score 0.2" in answer.out
    assert "[memory]\n  min_relevance_score = 0.2\n" in answer.out
    assert "1 test out of reach (pet)." in answer.out
    assert (install / "config.toml").read_bytes() == before, "only --write writes"


def test_write_shows_the_difference_and_saves(memory: Run, file: str, install: Path) -> None:
    refused = memory("advise", file, *LATER, "--write")
    assert refused.code == 2
    assert "asks first" in refused.err
    written = memory("advise", file, *LATER, "--write", "--yes")
    assert written.code == 0
    assert f"`zeroclaw onboard --config-dir {install} --restore` brings back the one of before." in written.err
    assert "min_relevance_score = 0.2" in (install / "config.toml").read_text()
    again = memory("advise", file, *LATER, "--json").json
    assert again["advice"] is None
    assert again["today"]["passed"] == 40


def test_too_few_tests_say_so(memory: Run, tmp_path: Path) -> None:
    path = tmp_path / "few.toml"
    path.write_text(UNREACHED)
    answer = memory("advise", str(path), "--json")
    assert (answer.code, answer.json["advice"]) == (0, None)
    assert "too few: each half needs 10" in answer.json["why_none"]


def test_without_a_file_it_takes_the_tests_beside_our_settings(memory: Run, install: Path) -> None:
    missing = memory("advise")
    assert missing.code == 1
    assert "There are no recall tests yet" in missing.err
    own = install / "zeroclaw-tui"
    own.mkdir(exist_ok=True)
    (own / "tests.toml").write_text(TESTS)
    found = memory("advise", *LATER, "--json").json
    assert (found["file"], found["tests"]) == (str(own / "tests.toml"), 40)
