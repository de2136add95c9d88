"""`memory recall`, `explain`, `prompt` and `test` show the agent's own recall, as text and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.commands import Brain, Command

LATER = ("--profile", "0.8.4", "--as-of", "2026-03-20T10:00:00Z")
"""Sixteen days after the daily memory `tz`."""


def keys_of(document: Any) -> list[str]:
    return [result["key"] for result in document["results"]]


def test_the_json_of_a_recall_has_settings_and_results(memory: Command) -> None:
    document = memory("recall", "Rust helix", "--profile", "0.7.5", "--json").json
    assert (document["profile"], document["profile_source"], document["layer"]) == ("0.7.5", "option", "agent")
    assert document["weights"] == {"vector": 0.7, "keyword": 0.3}
    assert keys_of(document) == ["editor", "lang", "food"]
    first = document["results"][0]
    assert (first["rank"], first["vector_score"], first["stage"]) == (1, None, "keyword")
    assert first["keyword_raw"] == pytest.approx(first["score"], abs=1e-6)


def test_a_recall_is_printed_as_text(memory: Command) -> None:
    answer = memory("recall", "-", "--profile", "0.8.4", stdin=b"rust\n")
    assert answer.code == 0
    assert all(words in answer.out for words in ("scoring 0.8.4 (option)", "lang", "User prefers Rust"))
    assert "keyword only" in answer.err
    nothing = memory("recall", "zebra")
    assert (nothing.code, "No memory is recalled for zebra." in nothing.out) == (0, True)


def test_an_unknown_version_is_refused_in_one_sentence(memory: Command) -> None:
    sentence = "zeroclaw: ZeroClaw 9.9.9 is unknown; using the rules of 0.8.4, the newest known.\n"
    newest = memory("recall", "rust", "--profile", "0.8.4", "--json")
    unknown = memory("recall", "rust", "--profile", "9.9.9", "--json")
    assert (unknown.code, keys_of(unknown.json)) == (0, keys_of(newest.json))
    assert unknown.err == sentence + newest.err
    assert sentence not in memory("list", "--profile", "9.9.9").err
    wrong = memory("recall", "rust", "--profile", "banana")
    assert (wrong.code, wrong.err.splitlines()[0]) == (2, "zeroclaw: 'banana' is not a ZeroClaw version.")


def test_the_bold_number_is_the_score_compared_with_the_threshold(memory: Command) -> None:
    (scored,) = memory("recall", "Timezone", "--json", *LATER).json["results"]
    assert scored["decayed"] < 0.4 < scored["score"]
    shown = memory("recall", "Timezone", *LATER).out
    assert f" {scored['score']:.2f} → {scored['decayed']:.2f}  " in shown
    assert re.search(r"^ +final  ", shown, re.MULTILINE)
    threshold = f"{scored['decayed']:.2f}"
    above = threshold if float(threshold) > scored["decayed"] else f"{scored['decayed'] + 0.0001:.6f}"
    close = memory("recall", "Timezone", f"--set=memory.min_relevance_score={above}", *LATER).out
    assert re.search(r" → 0\.\d{3}  ", close), "a score that rounds to the threshold needs more digits"


@pytest.mark.parametrize("profile", ["0.7.5", "0.8.4"])
@pytest.mark.parametrize("setting", ["min_relevance_score = 0.01", "keyword_weight = 0.9", 'search_mode = "embedding"'])
def test_the_option_set_equals_a_config_with_these_values(
    memory: Command, install: Path, profile: str, setting: str
) -> None:
    words = ("recall", "rust helix", "--json", "--as-of", "2026-03-09", "--profile", profile)
    found = memory(*words, f"--set=memory.{setting.replace(' = ', '=').replace(chr(34), '')}").json
    assert found != memory(*words).json
    with (install / "config.toml").open("a") as config:
        config.write(f"{setting}\n")
    assert found == memory(*words).json


@pytest.fixture
def turns(run: Command, tmp_path: Path) -> Callable[..., Any]:
    """Run `zeroclaw memory ...` on an install of 0.8.4 with fourteen notes and a chat in two sessions."""
    home = tmp_path / "zc"
    database = home / "data" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    at = {"created_at": "2026-03-01T10:00:00+00:00", "agent": "writer"}
    notes = [{"key": f"note_{n:02d}", "content": f"tea number {n}", "category": "daily", **at} for n in range(14)]
    chat = [{"key": key, "content": f"tea of {key}", "category": "conversation", "session_id": session, **at}
            for key, session in (("chat_one", "one"), ("sender", "ann"))]  # fmt: skip
    small_store.make(database, "G4", [*notes, *chat])

    def command(*arguments: str, limit: int = 7, **more: Any) -> Any:
        (home / "config.toml").write_text(
            'schema_version = 3\n[memory]\nbackend = "sqlite"\n[agents.writer]\nruntime_profile = "wide"\n'
            f"[runtime_profiles.wide]\nmemory_recall_limit = {limit}\n"
        )
        as_of = ["--as-of", "2026-03-01T10:00:00+00:00"]
        return run("memory", "--config-dir", str(home), "--profile", "0.8.4", "recall", *arguments, *as_of, **more)

    return command


def test_the_embedded_agent_has_the_limit_of_its_runtime_profile(turns: Command) -> None:
    writer = ("tea", "--agent", "writer", "--json", "--rule")
    library = turns(*writer, "library").json
    assert (library["limit"], len(library["results"])) == (7, 7)
    unlimited = turns(*writer, "library", limit=0).json
    assert (unlimited["limit"], unlimited["turn_limit"], len(unlimited["results"])) == (0, 0, 16)
    assert len(turns(*writer, "cron").json["results"]) == 5


def test_session_scopes_are_recalled_in_order_with_each_key_once(turns: Command) -> None:
    document = turns("tea", "--rule", "channel", "--session", "one", "--session", "ann", "--json").json
    assert document["sessions"] == ["one", "ann"]
    assert keys_of(document) == ["chat_one", "sender"]
    lines = b'{"query": "tea", "sessions": ["ann", "one"]}\n{"query": "tea", "session": "one"}\n'
    answers = turns("--batch", "-", "--rule", "channel", stdin=lines).out.splitlines()
    assert [keys_of(json.loads(line)) for line in answers] == [["sender", "chat_one"], ["chat_one"]]


def test_an_explanation_reports_a_miss_stage_by_stage(memory: Command) -> None:
    answer = memory("explain", "food", "--query", "does she like rust?", "--profile", "0.7.5")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[0] == "“food” is not in the prompt for “does she like rust?”"
    assert lines[1].startswith("scoring 0.7.5 (option) · weights 0.7 / 0.3 · threshold 0.40 · limit 5 · cli rule")
    assert "✓ words      matches “rust?” (in 2 of 9 memories" in answer.out
    assert "no embeddings configured" in answer.out
    assert lines[3].startswith("✗ It is not in the prompt: ")
    assert all(len(line) <= 120 for line in lines)
    assert "\x1b" not in answer.out


def test_explain_uses_the_given_agent(run: Command, agents_install: Path) -> None:
    def explain(*asked: str) -> Any:
        return run("memory", "--config-dir", str(agents_install), "explain", *asked, "--query", "rust", "--json")

    unsure = explain("lang")
    assert (unsure.code, "Several agents have the key" in unsure.err) == (1, True)
    assert explain("lang", "--agent", "writer").json["agent"] == "writer"
    for foreign in (("--id", "pen"), ("pen",)):
        document = explain(*foreign, "--agent", "default").json
        assert (document["agent"], document["stopped_at"]) == ("writer", "agent")


@pytest.mark.parametrize(
    ("content", "shown", "read"),
    [
        (b"zebra \x1b]0;owned\x07 \xe2\x80\xaegnp.exe\r\nnext\ttab", None,
         "zebra \x1b]0;owned\x07 \u202egnp.exe\r\nnext\ttab"),
        (b"zebra \xff\xfe", None, "zebra \udcff\udcfe"),
        ("zebra 👩‍🚀 tea\U000e006b\U000e0065\U000e0079\u200b".encode(),
         'zebra 👩‍🚀 tea⟨3 tag characters: "key"⟩⟨U+200B⟩', "zebra 👩‍🚀 tea\U000e006b\U000e0065\U000e0079\u200b"),
    ],
    ids=["hostile", "no UTF-8", "hidden"],
)  # fmt: skip
def test_prompt_json_is_the_exact_block_and_text_spells_out_hidden_characters(
    memory: Command, brain: Brain, content: bytes, shown: str | None, read: str
) -> None:
    """A poisoned memory is shown as the agent reads it; the JSON has the exact text."""
    brain.execute(f"UPDATE memories SET key = 'odd', content = CAST(x'{content.hex()}' AS TEXT) WHERE key = 'pet'")
    answer = memory("prompt", "zebra", "--json")
    text = f"[Memory context]\n- odd: {read}\n[/Memory context]\n\n"
    assert answer.json["text"] == text
    summary = f"1 memory, {len(text)} characters, about {-(-len(text) // 4)} tokens, by the rule of the CLI agent"
    assert summary in answer.err
    if shown is not None:
        for_people = memory("prompt", "zebra")
        assert for_people.out == f"[Memory context]\n- odd: {shown}\n[/Memory context]\n\n"
        assert "Invisible characters are marked; --json has the exact text." in for_people.err
        assert "marked" not in memory("prompt", "Rust").err


def test_an_empty_prompt_writes_nothing_and_says_why(memory: Command) -> None:
    nothing = memory("prompt", "zebra")
    assert (nothing.code, nothing.raw) == (0, b"")
    assert "Nothing was recalled. So nothing is put before this message" in nothing.err
    under = memory("prompt", "Rust", "--set=memory.min_relevance_score=50")
    assert (under.code, under.raw) == (0, b"")
    assert "2 recalled, none injected: 2 below the threshold 50.00 (the best is " in under.err


AS_OF = ("--as-of", "2026-03-06T00:00:00Z")
TESTS = """\
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


@pytest.fixture
def tests(tmp_path: Path) -> str:
    """A file of recall tests whose first test fails."""
    path = tmp_path / "golden.toml"
    path.write_text(TESTS)
    return str(path)


def test_without_a_file_the_tests_next_to_the_settings_run(memory: Command, install: Path) -> None:
    answer = memory("test")
    assert (answer.code, "memory help queries" in answer.err) == (1, True)
    (install / "zeroclaw-tui").mkdir(exist_ok=True)
    (install / "zeroclaw-tui" / "tests.toml").write_text(TESTS[TESTS.index('[[query]]\nquery = "Rust"') :])
    answer = memory("test", *AS_OF)
    assert (answer.code, "2 passed" in answer.out) == (0, True)


def test_results_without_vectors_are_marked_as_not_the_agents(memory: Command, install: Path, tests: str) -> None:
    with (install / "config.toml").open("a") as config:
        config.write("embedding_provider = 'custom:http://127.0.0.1:1'\nembedding_dimensions = 3\n")
    answer = memory("test", tests, *AS_OF)
    assert answer.code == 3
    assert "Some tests ran by keywords alone, because the agent gets nothing without vectors." in answer.err
    recall = memory("recall", "Rust").out
    assert recall.endswith("\nZeroClaw's own recall fails without the message's vector, so the agent gets nothing.\n")
    assert "injected" not in recall
    assert memory("reindex", "--yes").out.startswith("✗ 0 memories of 9 ")


def test_the_table_has_the_worst_tests_first_and_the_totals(memory: Command, tests: str) -> None:
    answer = memory("test", tests, *AS_OF)
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert answer.code == 1
    settings = "scoring 0.7.5 · weights 0.7 / 0.3 · threshold 0.4"
    assert lines[:3] == [f"3 recall tests in {tests}", settings, "1 failed, 2 passed"]
    assert [line for line in lines if line.startswith(("✓", "✗"))] == [
        "✗ fail – 0.00 what about zebras? missing: food_allergy",
        "✓ pass 1 1.00 Rust",
        "✓ pass 1 1.00 time zone, in the chat",
    ]
    assert [line.partition(" 0.67")[:2] for line in lines[-3:]] == [
        (name, " 0.67") for name in ("hit rate", "MRR", "nDCG@5")
    ]
    tried = memory("test", tests, "--set=memory.min_relevance_score=50", *AS_OF)
    assert "threshold 50\n3 failed, 0 passed\n" in tried.out


def test_the_test_file_in_the_help_works(memory: Command) -> None:
    shown = memory("test", "--help").out
    sample = shown[shown.index("  [[query]]") : shown.index("\nA test passes")]
    results = memory("test", "-", "--json", "--read-only", stdin=sample.encode()).json["results"]
    assert [figures["name"] for figures in results] == ["what does she like to eat?", "May trip, in the chat"]
    assert results[1]["rejected"] == ["old_trip"]
