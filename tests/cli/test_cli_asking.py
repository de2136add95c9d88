"""Questions in a real terminal: No is the default, large numbers must be typed, ctrl-c changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Brain, Command
from support.terminal import Terminal

Ask = Callable[..., Terminal]


@pytest.fixture
def ask(script: Callable[[str], str], install: Path) -> Ask:
    """Run `zeroclaw memory ...` in a terminal."""
    command = [script("zeroclaw"), "memory", "--config-dir", str(install)]
    return lambda *arguments: Terminal([*command, *arguments], columns=100, lines=30)


def test_a_plan_is_shown_and_yes_runs_it(ask: Ask, brain: Brain) -> None:
    with ask("purge", "--session", "tg_1") as screen:
        screen.wait_for(
            "Purge 2 memories?", "core 1 · daily 1", "Cat named Mio", "They go to the trash", "Go on? [y/N]"
        )
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
        assert "2 memories are in the trash until" in screen.text
    assert len(brain.keys()) == 7


@pytest.mark.parametrize(
    ("command", "plan", "question"),
    [
        (("import", "notes.jsonl"), "Import 1 memory from notes.jsonl?", "Go on? [y/N]"),
        (("copy", "--to", "markdown"), "1 superseded memory is left out", "Go on? [y/N]"),
        (("doctor", "--compact"), "A backup is created first.", "Rewrite it? [y/N]"),
    ],
)
def test_every_plan_is_shown_above_its_question_and_no_changes_nothing(
    ask: Ask, brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], plan: str,
    question: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.jsonl").write_text('{"key": "new", "content": "A new memory", "category": "core"}\n')
    before = brain.rows()
    with ask(*command) as screen:
        screen.wait_for(plan, question)
        screen.press("n", "enter")
        assert screen.wait_exit() == 1
        assert "Nothing was changed." in screen.text
    assert brain.rows() == before
    assert not list(brain.path.parent.parent.glob("*.md"))


@pytest.mark.parametrize("answer", [("enter",), ("yep", "enter"), ("\x04",)])
def test_any_answer_but_yes_means_no(ask: Ask, brain: Brain, answer: tuple[str, ...]) -> None:
    with ask("forget", "pet") as screen:
        screen.wait_for("Forget 1 memory?", "[y/N]")
        screen.press(*answer)
        assert screen.wait_exit() == 1
        assert "Nothing was changed." in screen.text
    assert len(brain.keys()) == 9


@pytest.mark.parametrize("arguments", [("purge", "--category", "core"), ("undo",)])
def test_ctrl_c_at_a_question_exits_at_once(
    ask: Ask, memory: Command, brain: Brain, arguments: tuple[str, ...]
) -> None:
    assert memory("edit", "tz", "--category", "core").code == 0
    with ask(*arguments) as screen:
        screen.wait_for("[y/N]")
        screen.press("ctrl+c")
        assert screen.wait_exit() == 130
        assert "Nothing was changed." in screen.text
        assert "Traceback" not in screen.text
    assert len(brain.keys()) == 9


@pytest.mark.parametrize(
    ("rows", "command", "question", "answers"),
    [
        (10, ("purge", "--category", "noise"), "Go on? [y/N]", {"10": 1, "y": 0}),
        (11, ("purge", "--category", "noise"), "Type 11 to purge:", {"y": 1, "11": 0}),
        (1200, ("purge", "--category", "noise"), "Type 1,200 to purge:", {"1199": 1, "1,200": 0}),
        (0, ("forget", "pet", "--forever"), "Type 1 to forget permanently:", {"y": 1, "1": 0}),
        (0, ("trash", "empty"), "Type 12 to delete them permanently:", {"y": 1, "12": 0}),
    ],
)
def test_large_or_permanent_deletions_need_the_number_typed(
    ask: Ask, memory: Command, brain: Brain, rows: int, command: tuple[str, ...], question: str, answers: dict[str, int]
) -> None:
    brain.add_noise(12)
    memory("purge", "--category", "noise", "--yes")
    brain.add_noise(rows)
    for answer, code in answers.items():
        before = brain.keys(), memory("trash", "list", "--json").json["total"]
        with ask(*command) as screen:
            screen.wait_for(question)
            screen.press(answer, "enter")
            assert screen.wait_exit() == code
        assert ((brain.keys(), memory("trash", "list", "--json").json["total"]) != before) == (code == 0)


def test_undo_lists_restored_and_conflicting_memories_before_it_asks(ask: Ask, memory: Command, brain: Brain) -> None:
    number = str(memory("forget", "pet", "--yes", "--json").json["action"])
    with ask("undo") as screen:
        screen.wait_for(f"Change {number}, ", "deleted pet", "comes back:  pet", "Undo it? [y/N]")
        screen.press("n", "enter")
        assert screen.wait_exit() == 1
    memory("store", "pet", "Dog named Rex")
    with ask("undo", "--id", number) as screen:
        assert screen.wait_exit() == 1
        assert "the key exists again" in screen.text
        assert "Undo it?" not in screen.text
    with ask("undo", "--id", number, "--rename") as screen:
        screen.wait_for("1 comes back under another key", "pet becomes pet (restored).", "Undo it? [y/N]")
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
        assert "Undid: " in screen.text
    assert len(brain.keys()) == 10


def test_json_is_alone_on_stdout_during_questions_and_hostile_text_is_cleaned(
    script: Callable[[str], str], install: Path, brain: Brain, tmp_path: Path
) -> None:
    brain.execute("UPDATE memories SET category = char(27) || ']0;owned' || char(7) || char(155) WHERE key = 'pet'")
    file = tmp_path / "answer.json"
    command = f"{script('zeroclaw')} memory --config-dir {install} forget pet --json > {file}"
    with Terminal(["/bin/sh", "-c", command], columns=100, lines=30) as screen:
        screen.wait_for("Forget 1 memory?", "Cat named Mio", "[y/N]")
        assert b"\x1b]0;owned" not in screen.raw
        assert b"\xc2\x9b" not in screen.raw
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
    assert json.loads(file.read_text())["count"] == 1


def test_a_long_purge_shows_its_progress_only_in_a_terminal(ask: Ask, memory: Command, brain: Brain) -> None:
    brain.add_noise(1100)
    with ask("purge", "--category", "noise", "--yes") as screen:
        assert screen.wait_exit() == 0
        assert b"Deleting " in screen.raw
        assert "Deleting" not in screen.text
        assert "Purged 1,100 memories." in screen.text
    assert memory("undo", "--yes").err == ""
