"""list, search, get, stats and health, as text and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.commands import Brain, Command

ENTRY_NAMES = {
    "id", "key", "content", "category", "timestamp", "updated_at", "session_id", "namespace", "importance",
    "superseded_by", "kind", "pinned", "agent", "embedding_dimensions",
}  # fmt: skip


def _keys(answer: Any, of: str = "entries") -> list[str]:
    return [entry["key"] for entry in answer.json[of]]


def test_list_prints_the_same_as_zeroclaw(memory: Command) -> None:
    answer = memory("list", "--limit", "2", "--offset", "2", "--profile", "0.7.5")
    assert answer.out == (
        "Memory entries (8 total, showing 3-4):\n\n"
        "- food_allergy [core]\n    Allergic to peanuts\n"
        "- food [travel notes]\n    Likes ramen and rust colored plates\n\n"
        "  Use --offset 4 to see the next page.\n"
    )
    message = "zeroclaw: 1 superseded hidden; see --superseded show.\n"
    assert (answer.code, answer.err) == (0, message)


def test_list_prints_json(memory: Command, install: Path) -> None:
    answer = memory("list", "--json", "--limit", "3")
    document = answer.json
    assert (document["backend"], document["total"], document["offset"], document["limit"]) == ("sqlite", 8, 0, 3)
    assert document["location"] == str(install / "workspace" / "memory" / "brain.db")
    assert _keys(answer) == ["", "--json", "food_allergy"]
    assert all(set(entry) == ENTRY_NAMES for entry in document["entries"])
    first = document["entries"][2]
    assert (first["session_id"], first["importance"], first["agent"], first["pinned"]) == ("tg_2", 0.5, None, None)
    assert answer.raw.endswith(b"}\n")
    assert answer.err == ""


def test_every_count_without_superseded_memories_says_so(
    memory: Command, run: Command, agents_install: Path, tmp_path: Path
) -> None:
    """Of nine stored rows one is hidden: each count says whether it includes it."""
    left_out = "1 superseded memory is left out; --superseded show takes it along."
    copied = str(tmp_path / "copied.db")
    for arguments, words in (
        (("stats",), "1 superseded hidden; see --superseded show."),
        (("purge", "--category", "core", "--dry-run"), left_out),
        (
            ("clear", "--category", "core", "--dry-run"),
            "left out; `zeroclaw memory purge --superseded only --category core` takes it along.",
        ),
        (("export",), left_out),
        (("copy", "--to", "sqlite", "--to-location", copied, "--dry-run"), left_out),
    ):
        answer = memory(*arguments)
        assert words in answer.out + answer.err, arguments
        others = run("memory", "--config-dir", str(agents_install), *arguments)
        assert "superseded" not in others.out.replace('"superseded_by":', "") + others.err, arguments
    message = "superseded_hidden"
    assert memory("list", "--json").json[message] == 1
    assert memory("list", "--json", "--superseded", "show").json[message] == 0
    assert memory("purge", "--category", "core", "--dry-run", "--json").json[message] == 1


def test_get_prints_the_same_as_zeroclaw(memory: Command) -> None:
    answer = memory("get", "food")
    assert answer.out == (
        "Key:       food\nCategory:  travel notes\nTimestamp: 2026-03-05T10:00:00+00:00\n\n"
        "Likes ramen and rust colored plates\nand tea\n"
    )
    assert answer.code == 0


@pytest.mark.parametrize(
    ("asked", "memory_id"),
    [
        (("pet",), "id-2"), (("pe",), "id-2"), (("--", "--json"), "id-6"), (("",), "id-7"), (("--id", "id-6"), "id-6"),
        (("food", "--id", "id-4"), "id-4"), (("--id=id-old",), "id-old"),
    ],
)  # fmt: skip
def test_get_finds_a_memory_by_key_prefix_or_id(memory: Command, asked: tuple[str, ...], memory_id: str) -> None:
    answer = memory("--json", "get", *asked)
    assert answer.json["id"] == memory_id
    assert set(answer.json) == ENTRY_NAMES


def test_a_prefix_of_several_keys_is_refused(memory: Command) -> None:
    answer = memory("get", "foo")
    assert answer.code == 1
    assert answer.out.startswith("Prefix 'foo' matched 2 entries:\n\n- food_allergy [core]\n- food [travel notes]\n")
    as_json = memory("get", "foo", "--json")
    assert (as_json.code, as_json.message, "matched 2 entries" in as_json.err) == (1, "", True)


def test_a_key_of_two_agents_needs_the_agent(run: Command, agents_install: Path) -> None:
    def get(*more: str) -> Any:
        return run("memory", "get", "lang", "--config-dir", str(agents_install), "--json", *more)

    unsure = get()
    assert (unsure.code, unsure.message) == (1, "")
    assert all(word in unsure.err for word in ("default", "writer", "lang-default", "--agent"))
    assert get("--agent", "writer").json["content"] == "Rust, says writer"
    assert get("--id", "lang-default").json["agent"] == "default"


def test_an_agent_reads_the_memories_that_the_config_allows(run: Command, agents_install: Path) -> None:
    with (agents_install / "config.toml").open("a") as config:
        config.write('[agents.default.workspace]\nread_memory_from = ["writer"]\n[agents.writer]\n')

    def found(agent: str, *options: str) -> int:
        place = ("--config-dir", str(agents_install), "--agent", agent, "--json")
        return len(run("memory", "recall", "rust", *place, *options).json["results"])

    assert (found("default"), found("writer"), found("default", "--agent", "writer")) == (3, 2, 3)
    assert found("default", "--layer", "store") == 1


def test_stats_prints_the_same_as_zeroclaw(memory: Command) -> None:
    assert memory("stats").out == (
        "Memory Statistics:\n\n  Backend:  sqlite\n  Health:   healthy\n  Total:    9\n\n  By category:\n"
        "    core                 6\n    daily                1\n    travel notes         1\n"
    )


def test_health_reports_the_store(memory: Command, install: Path) -> None:
    answer = memory("health", "--json")
    document = answer.json
    assert answer.code == 0
    assert (document["ok"], document["generation"], document["profile_source"]) == (True, "G2", "assumed")
    assert document["config"]["memory.backend"]["value"] == "sqlite"
    shown = memory("health").out
    assert shown.startswith("✓ ")
    assert str(install / "config.toml") in shown


def test_health_never_shows_a_secret(memory: Command, install: Path) -> None:
    secret = "sk-verysecretverysecret"
    (install / "config.toml").write_text(
        f'default_temperature = 0.7\napi_key = "{secret}"\n[memory]\nbackend = "sqlite"\nauto_save = true\n'
        f'embedding_provider = "custom:http://ada:{secret}@127.0.0.1:9/v1"\nembedding_api_key = "{secret}"\n'
        f'[memory.qdrant]\nurl = "http://localhost"\napi_key = "{secret}"\n'
    )
    for options in ((), ("--json",)):
        answer = memory("health", *options)
        assert answer.code == 0
        assert secret not in answer.out + answer.err


def test_an_unopenable_store_is_reported_in_one_sentence_and_in_health_json(memory: Command, brain: Brain) -> None:
    for damaged in (brain.path.read_bytes()[:4196], b"not a database at all" * 300):
        brain.path.write_bytes(damaged)
        listed = memory("list")
        assert (listed.code, listed.out, listed.err.startswith("zeroclaw: ")) == (3, "", True)
    answer = memory("health", "--json")
    assert (answer.code, answer.json["ok"], bool(answer.json["summary"])) == (3, False, True)
    assert memory("health").out.startswith("✗ ")


def test_two_possible_stores_are_both_named(memory: Command, install: Path) -> None:
    newer = install / "data" / "memory"
    newer.mkdir(parents=True)
    (newer / "brain.db").write_bytes((install / "workspace" / "memory" / "brain.db").read_bytes())
    answer = memory("list")
    assert answer.code == 0
    assert all(str(install / name) in answer.err for name in ("data", "workspace"))


def test_a_lone_store_needs_no_install(run: Command, brain: Brain, tmp_path: Path) -> None:
    lone = brain.path.rename(tmp_path / "copy.db")
    assert run("memory", "list", "--json", "--location", str(lone)).json["location"] == str(lone)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("- likes tea\n- **tz**: EST\n")
    document = run("memory", "list", "--json", "--location", str(notes)).json
    assert (document["backend"], document["total"]) == ("markdown", 2)


def test_reading_does_not_change_the_database(memory: Command, brain: Brain) -> None:
    before = brain.path.read_bytes()
    for arguments in (("list",), ("get", "pet"), ("recall", "rust"), ("stats",), ("health",)):
        assert memory(*arguments).code == 0
    assert brain.path.read_bytes() == before


def test_no_sentence_is_printed_twice(memory: Command, install: Path) -> None:
    (install / "config.toml").write_text('[memory]\nbackend = "none"\nauto_save = "yes"\nfoo = 1\n')
    for arguments in (("list",), ("recall", "rust"), ("health",), ("stats",)):
        answer = memory(*arguments)
        message = answer.err + answer.out
        assert message.count("Nothing is stored:") == 1
        assert message.count("memory.auto_save is a text") == (arguments == ("health",))


@pytest.mark.parametrize("verb", [("list",), ("recall", "rust", "--json")])
def test_a_backend_unknown_to_zeroclaw_is_named_on_stderr(run: Command, tmp_path: Path, verb: tuple[str, ...]) -> None:
    """ZeroClaw stores the memories in Markdown for this backend, and its list is empty."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "MEMORY.md").write_text("- User prefers Rust\n")
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "in-memory"\nauto_save = true\n')
    answer = run("memory", "--config-dir", str(tmp_path), *verb)
    assert answer.code == 0
    assert answer.err == 'zeroclaw: ZeroClaw itself does not know the backend "in-memory" and uses Markdown instead.\n'


@pytest.mark.parametrize(
    ("arguments", "as_list"),
    [
        (("RAMEN", "and"), ("--contains", "ramen and")),
        (("rust", "--regex", "(?i)helix|prefers"), ("--contains", "rust", "--regex", "(?i)helix|prefers")),
    ],
)  # fmt: skip
def test_search_equals_a_list_with_the_text_filter(
    memory: Command, arguments: tuple[str, ...], as_list: tuple[str, ...]
) -> None:
    for form in ((), ("--json",)):
        found, listed = memory("search", *arguments, *form), memory("list", *as_list, *form)
        assert (found.code, found.out, found.err) == (0, listed.out, listed.err)
