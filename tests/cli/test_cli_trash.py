"""`memory trash`, `undo`, `redo` and `get --history`: list, restore and delete earlier changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.commands import Brain, Command


@pytest.fixture
def emptied(memory: Command) -> Command:
    """The install after two single deletions and the deletion of a category."""
    for arguments in (("forget", "pet"), ("forget", "lang"), ("purge", "--category", "daily")):
        assert memory(*arguments, "--yes").code == 0
    return memory


def _keys(memory: Command, *options: str) -> list[str]:
    return [entry["key"] for entry in memory("trash", "list", "--json", *options).json["entries"]]


def _numbers(memory: Command) -> dict[str, str]:
    return {entry["key"]: str(entry["number"]) for entry in memory("trash", "list", "--json").json["entries"]}


def test_the_trash_is_listed_in_pages_and_by_text(emptied: Command) -> None:
    document = emptied("trash", "list", "--json").json
    assert [entry["key"] for entry in document["entries"]] == ["tz", "lang", "pet"]
    first = document["entries"][0]
    assert (first["id"], first["content"], first["verb"]) == ("id-3", "Timezone is EST", "purge")
    assert {"number", "action", "deleted_at", "until", "size", "store"} <= set(first)
    assert first["until"] > first["deleted_at"]
    assert set(document["usage"]) == {"rows", "bytes", "days_kept", "bytes_kept", "oldest"}
    shown = emptied("trash", "list", "--limit", "2").out
    for words in ("Timezone is EST", "1 more; use --offset 2.", "each stays for 30 days"):
        assert words in shown
    assert "Cat named Mio" not in shown
    assert _keys(emptied, "--contains", "RUST") == ["lang"]
    assert _keys(emptied, "--offset", "2") == ["pet"]
    assert emptied("trash", "empty", "--yes").code == 0
    assert emptied("trash", "list").out.startswith("The trash is empty.\n")


@pytest.mark.parametrize(("how", "left"), [(("--all",), []), (("--contains", "rust"), ["tz", "pet"])])
def test_restore_restores_the_named_memories(emptied: Command, how: tuple[str, ...], left: list[str]) -> None:
    document = emptied("trash", "restore", *how, "--json").json
    assert (document["verb"], document["count"]) == ("restore", 3 - len(left))
    assert _keys(emptied) == left
    assert emptied("list", "--json").json["total"] == 8 - len(left)


def test_changes_are_restored_by_number_and_the_deletion_redone(emptied: Command) -> None:
    numbers = _numbers(emptied)
    answer = emptied("trash", "restore", numbers["pet"], numbers["lang"])
    assert (answer.code, "Restored 2 memories." in answer.out) == (0, True)
    for nothing in (("999",), ("--contains", "zebra"), (numbers["pet"],)):
        refused = emptied("trash", "restore", *nothing)
        assert (refused.code, refused.out, "trash" in refused.err) == (1, "", True)
    assert emptied("redo", "--yes", "--json").json["redone"]["verb"] == "forget"
    assert emptied("get", "pet").code == 1


def test_emptying_the_trash_deletes_permanently(emptied: Command, install: Path) -> None:
    assert "Empty the trash of 3 memories?" in emptied("trash", "empty", "--dry-run").out
    assert emptied("trash", "empty", "--yes").out == "✓ 3 memories permanently deleted.\n"
    left = b"".join(path.read_bytes() for path in (install / "zeroclaw-tui").glob("trash.db*"))
    assert not any(word in left for word in (b"Mio", b"Timezone is EST", b"User prefers Rust"))


def test_history_lists_every_change_with_its_differences(memory: Command) -> None:
    assert memory("get", "--history", "pet").out == "No change was made to this memory here.\n"
    memory("edit", "pet", "--content", "Cat named Kiki", "--category", "daily")
    memory("forget", "pet", "--yes")
    document = memory("get", "--history", "pet", "--json").json
    assert [version["verb"] for version in document["versions"]] == ["forget", "edit"]
    edit = document["versions"][1]
    assert set(edit) == {"action", "verb", "at", "id", "before", "after", "diff"}
    assert (edit["before"]["content"], edit["after"]["category"]) == ("Cat named Mio", "daily")
    assert edit["diff"].splitlines()[1:] == ["-Cat named Mio", "+Cat named Kiki"]
    shown = memory("get", "--history", "--id", "id-2").out
    assert "category: core → daily" in shown
    assert "+Cat named Kiki" in shown
    memory("store", "pet", "Dog named Rex")
    again = memory("get", "--history", "pet", "--json").json
    assert ([version["verb"] for version in again["versions"]], len(again["ids"])) == (["store", "forget", "edit"], 2)
    for asked in (("nobody",), ("--id", "id-99")):
        answer = memory("get", "--history", *asked)
        assert (answer.code, answer.out, "No memory entry found" in answer.err) == (1, "", True)


@pytest.mark.parametrize(
    "nothing",
    [
        ("edit", "pet", "--category", "core"),
        ("purge", "--category", "nobody has it", "--yes"),
        ("clear", "--category", "nobody has it", "--yes"),
        ("hygiene", "--as-of", "2020-01-01", "--yes"),
        ("forget", "food", "--forever", "--yes"),
    ],
)
def test_undo_skips_a_command_that_changed_nothing_or_cannot_be_undone(
    nothing: tuple[str, ...], memory: Command, brain: Brain
) -> None:
    """A loop of `undo --yes` continues until nothing is left to undo."""
    memory(*nothing)
    before = brain.keys()
    assert memory("forget", "tz", "--yes").code == 0
    memory(*nothing)
    assert memory("store", "pet", "Mio", "--category", "core").code == 0
    memory(*nothing)
    assert "Undid: stored pet. (1 change)" in memory("undo", "--yes").out
    assert [memory("undo", "--yes").code for _ in range(2)] == [0, 1]
    assert brain.keys() == before


def test_a_change_can_be_undone_by_number_despite_later_changes(memory: Command, brain: Brain) -> None:
    numbers = [memory("forget", key, "--yes", "--json").json["action"] for key in ("tz", "pet", "editor")]
    listed = memory("undo", "--list", "--json").json["actions"]
    found = [(one["number"], one["verb"], one["summary"], one["open"]) for one in listed]
    keys = ("editor", "pet", "tz")
    assert found == [(number, "forget", f"deleted {key}", 1) for number, key in zip(numbers[::-1], keys, strict=True)]
    done = memory("undo", "--id", str(numbers[1]), "--yes", "--json").json
    assert set(done["undone"]) == {"number", "verb", "at", "summary", "count"}
    assert (done["undone"]["number"], done["next"]["number"]) == (numbers[1], numbers[2])
    assert brain.keys() & {"tz", "pet", "editor"} == {"pet"}
    assert "undone: deleted pet" in memory("undo", "--list").out
    for wanted, sentence in ((numbers[1], "is already undone"), (999, "has no change 999")):
        answer = memory("undo", "--id", str(wanted), "--yes")
        assert (answer.code, sentence in answer.err) == (1, True)
    number = str(memory("edit", "pet", "--content", "Cat named Mia", "--json").json["action"])
    memory("edit", "pet", "--content", "Cat named Mo")
    refused = memory("undo", "--id", number, "--yes")
    assert (refused.code, "pet" in refused.err) == (1, True)


def test_a_key_that_exists_again_stops_undo_and_restore_until_the_user_decides(memory: Command, brain: Brain) -> None:
    memory("forget", "pet", "--yes")
    present = memory("store", "pet", "Dog named Rex", "--json").json["entry"]["id"]
    number = str(memory("undo", "--list", "--json").json["actions"][1]["number"])
    before = brain.rows()
    because = f"'pet' (id id-2): the key exists again (id {present})."
    conflict = {"id": "id-2", "key": "pet", "because": because, "present": present}
    for command in (("undo", "--id", number, "--yes"), ("trash", "restore", _numbers(memory)["pet"])):
        answer = memory(*command, "--json")
        assert (answer.code, answer.message, answer.err.count(because)) == (1, "", 1)
        assert answer.json["error"]["message"] == f"{because} Nothing was restored."
        assert answer.json["error"]["clashes"] == [conflict]
        assert all(option in answer.err for option in ("--overwrite", "--rename"))
        plan = [word for word in command if word != "--yes"]
        shown = memory(*plan, "--dry-run").out
        assert all(words in shown for words in (because, "1 in conflict, so", 'comes back:  pet  "Cat named Mio"'))
        for way, count in (("refuse", 0), ("overwrite", 1), ("rename", 1)):
            planned = memory(*plan, "--dry-run", "--json", *([] if way == "refuse" else [f"--{way}"])).json
            assert (planned["count"], planned["on_clash"], planned["clashing"]) == (count, way, 1)
            assert planned["clashes"] == [conflict]
            assert planned["renamed"] == ({"pet": "pet (restored)"} if way == "rename" else {})
    assert brain.rows() == before
    assert memory("trash", "restore", _numbers(memory)["pet"], "--overwrite").code == 0
    assert memory("get", "pet", "--json").json["content"] == "Cat named Mio"


def test_a_memory_is_restored_only_to_its_own_store(memory: Command, install: Path, brain: Brain) -> None:
    memory("forget", "pet", "--yes")
    other = install / "other" / "brain.db"
    other.parent.mkdir()
    shutil.copy(brain.path, other)
    refused = memory("--backend", "sqlite", "--location", str(other), "trash", "restore", _numbers(memory)["pet"])
    assert (refused.code, refused.out, "deleted from another store" in refused.err) == (1, "", True)
