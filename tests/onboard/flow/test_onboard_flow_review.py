"""The review: write, change one thing, save the answers, leave."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from difflib import ndiff
from pathlib import Path

import pytest
from onboard_flow_world import FORMS, OLD, PASSWORD, FakeProbes, World, bad, given, with_backend
from support.scripted_asker import ENTER, Moment, Reply, ScriptedAsker, answering

from zeroclaw_tui.onboard.answers import read_answers
from zeroclaw_tui.onboard.flow import FlowResult, kept_progress, walk
from zeroclaw_tui.onboard.prompts import Move
from zeroclaw_tui.onboard.questions import question_of
from zeroclaw_tui.onboard.wizard import Request, run_wizard

MakeWorld = Callable[..., World]


def id_of(setting: str) -> str:
    question = question_of(setting)
    assert question is not None
    return question.id


THRESHOLD, BACKEND, AUTO_SAVE = map(id_of, ("memory.min_relevance_score", "memory.backend", "memory.auto_save"))


def reviewed(
    world: World, replies: dict[str, Reply | Sequence[Reply]], backend: str = "sqlite"
) -> tuple[FlowResult, ScriptedAsker]:
    asker = ScriptedAsker(answering(replies, lambda moment: with_backend(backend, moment)))
    return walk(asker, world.answers()), asker


def test_changing_one_thing_comes_back_to_the_review(make_world: MakeWorld, probes: FakeProbes) -> None:
    walked, asker = reviewed(
        make_world(FORMS["old"]),
        {"review": ["change", "write"], "overview": THRESHOLD, THRESHOLD: [ENTER, "0.5"]},
    )
    names = [moment.name for moment in asker.moments]
    assert names[-4:] == ["review", "overview", THRESHOLD, "review"]
    assert given(walked.answers) == {"memory.min_relevance_score": 0.5}
    assert walked.ending == "write"
    assert probes.tested == ["sqlite"], "nothing that is tested changed"


def test_changing_the_backend_in_the_review_asks_what_it_needs_and_tests_it(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    visits = 0

    def script(moment: Moment) -> Reply:
        nonlocal visits
        if moment.name == "review":
            return "write" if visits == 2 else "change"
        if moment.name == "overview":
            return BACKEND
        if moment.name == BACKEND:
            visits += 1
            return ENTER if visits == 1 else "postgres"
        return with_backend("postgres", moment)

    asker = ScriptedAsker(script)
    walked = walk(asker, make_world(FORMS["old"]).answers())
    names = [moment.name for moment in asker.moments]
    assert names[-3:] == [BACKEND, id_of("storage.postgres.db_url"), "review"]
    assert probes.tested == ["sqlite", "postgres"]
    assert walked.answers.backend() == "postgres"


def test_back_while_changing_one_thing_comes_back_to_the_review(make_world: MakeWorld, probes: FakeProbes) -> None:
    _, asker = reviewed(
        make_world(FORMS["old"]),
        {"review": ["change", "change", "leave"], "overview": [THRESHOLD, Move.BACK], THRESHOLD: [ENTER, Move.BACK]},
    )
    names = [moment.name for moment in asker.moments]
    assert names[-6:] == ["review", "overview", THRESHOLD, "review", "overview", "review"]


def test_back_in_the_review_goes_to_the_last_question(make_world: MakeWorld, probes: FakeProbes) -> None:
    _, asker = reviewed(make_world(FORMS["old"]), {"review": [Move.BACK, "leave"]})
    names = asker.names()
    assert names[-1] == names[-2]


def test_nothing_to_change_says_so_and_offers_no_writing(make_world: MakeWorld, probes: FakeProbes) -> None:
    walked, asker = reviewed(make_world(FORMS["old"]), {"review": "leave"})
    assert "nothing to change" in asker.moments[-1].title
    assert "write" not in asker.moments[-1].values
    assert walked.ending == "leave"


def test_saved_answers_answer_the_same_again(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    _, asker = reviewed(world, {"review": ["save", "leave"], AUTO_SAVE: "no"}, backend="postgres")
    saved = Path("answers.toml")
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    text = saved.read_text()
    assert PASSWORD not in text
    assert "Saved" in asker.all_said
    assert os.listdir() == ["answers.toml"]
    values = read_answers(saved)
    assert values["memory.backend"] == "postgres"
    assert values["memory.auto_save"] is False


def test_saved_answers_are_told_with_the_command_that_means_the_same_config(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    world = make_world(FORMS["old"])
    asker = ScriptedAsker(answering({"review": ["save", "leave"], "Save the answers as": "my answers.toml"}))
    place = world.config_dir.rename(world.home / "elsewhere")
    run_wizard(asker, Request(config_dir=place), world.environ)
    assert f"    zeroclaw onboard --config-dir {place} --answers 'my answers.toml'" in asker.said


@pytest.mark.parametrize("reply", ["no", "yes"])
def test_a_file_that_is_there_is_replaced_only_after_a_yes(
    reply: str, make_world: MakeWorld, probes: FakeProbes
) -> None:
    world = make_world(FORMS["old"])
    save: dict[str, Reply | Sequence[Reply]] = {"review": ["save", "leave"]}
    reviewed(world, save)
    before = Path("answers.toml").read_text()
    reviewed(world, save | {"yes or no": reply, THRESHOLD: "0.5"})
    assert (Path("answers.toml").read_text() == before) == (reply == "no")


@pytest.mark.parametrize(
    "name",
    [
        "~/.zeroclaw/config.toml",
        "~/.zeroclaw/.secret_key",
        "~/.zeroclaw/zeroclaw-tui/onboard.toml",
        "link.toml",
        "notes.toml",
        "pipe",
    ],
)
@pytest.mark.parametrize("config", [OLD, None], ids=["a config", "none yet"])
def test_answers_never_take_the_place_of_what_is_no_answers_file(
    name: str, config: str | None, make_world: MakeWorld, probes: FakeProbes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor that of a config or a key which are still to be written."""
    world = make_world(config)
    monkeypatch.setenv("HOME", str(world.home))
    world.config_dir.mkdir(exist_ok=True)
    Path("link.toml").symlink_to(world.config_file)
    Path("notes.toml").write_text(OLD)
    os.mkfifo("pipe")
    before = world.files()
    _, asker = reviewed(
        world, {"review": ["save", "leave"], "Save the answers as": [name, Move.BACK], "yes or no": "yes"}
    )
    (complaint,) = [said for said in asker.said if said.endswith("type another name.")]
    assert complaint.startswith(str(Path(name).expanduser()))
    assert kept_progress(world.situation()) is not None
    world.kept_file.unlink()
    assert world.files() == before
    assert Path("notes.toml").read_text() == OLD


def test_a_home_that_nobody_has_is_a_name_that_cannot_be(make_world: MakeWorld, probes: FakeProbes) -> None:
    names = ["~no-such-user/answers.toml", Move.BACK]
    _, asker = reviewed(make_world(OLD), {"review": ["save", "leave"], "Save the answers as": names})
    assert "There is no folder ~no-such-user." in asker.said


def test_a_file_name_that_cannot_be_is_asked_again(make_world: MakeWorld, probes: FakeProbes) -> None:
    Path("folder").mkdir(mode=0o755)
    names = ["", "folder", "nowhere/file.toml", "folder/file.toml"]
    _, asker = reviewed(make_world(FORMS["old"]), {"review": ["save", "leave"], "Save the answers as": names})
    assert "Type the name of a file." in asker.said
    assert "folder is a folder; type the name of a file." in asker.said
    assert "There is no folder nowhere." in asker.said
    assert Path("folder/file.toml").is_file()
    assert stat.S_IMODE(Path("folder").stat().st_mode) == 0o755


def test_saving_can_be_left_again(make_world: MakeWorld, probes: FakeProbes) -> None:
    reviewed(make_world(FORMS["old"]), {"review": ["save", "leave"], "Save the answers as": Move.BACK})
    assert os.listdir() == []


def test_a_plan_that_cannot_be_made_is_said_and_nothing_can_be_written(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    """An address must be encrypted, but the key file is missing beside a value that is encrypted already."""
    world = make_world(OLD + 'bot_token = "enc2:0011223344556677889900112233445566778899001122334455667788990011"\n')
    walked, asker = reviewed(world, {"review": "leave"}, backend="postgres")
    assert walked.ending == "leave"
    assert walked.plan is None
    assert ".secret_key" in asker.all_said
    assert "write" not in asker.moments[-1].values
    assert "change" in asker.moments[-1].values
    assert PASSWORD not in asker.all_said


def test_the_review_shows_the_change_and_hides_the_password(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["postgres"] = [bad("postgres")]
    _, asker = reviewed(make_world(FORMS["old"]), {"review": "leave", "bad test": "keep"}, backend="postgres")
    assert '+ backend = "postgres"' in asker.all_said
    assert "✗ PostgreSQL: postgres does not answer" in asker.all_said
    assert PASSWORD not in asker.all_said


def test_a_new_file_is_reviewed_by_its_keys_and_what_is_left_out_is_said(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    walked, asker = reviewed(make_world(None), {"review": "leave"})
    assert walked.plan is not None
    lines = walked.plan.after.text.splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    shown = [line.removeprefix("+ ") for line in asker.said if line.startswith("+ ")]
    assert shown == ["schema_version = 3", "[memory]", 'backend = "sqlite.default"']
    (folded,) = [line for line in asker.said if line.startswith("  and ")]
    left_out = [key for key in keys if key not in shown]
    told = f"  and {len(lines) - len(keys)} lines of comments and blanks, {len(left_out)} defaults: "
    assert folded == told + ", ".join(left_out)
    assert asker.moments[-1].title == f"~/.zeroclaw/config.toml: a new file of {len(lines)} lines. What now?"


def test_what_a_person_answered_is_no_default_of_a_new_file(make_world: MakeWorld, probes: FakeProbes) -> None:
    _, asker = reviewed(make_world(None), {"review": "leave", "auto_save": "no"})
    assert "+ auto_save = false" in asker.said
    assert not [line for line in asker.said if "defaults: " in line and "auto_save" in line]


def test_what_was_answered_and_what_goes_is_shown_of_an_old_file(make_world: MakeWorld, probes: FakeProbes) -> None:
    """What a backend brings along is said in a note, and each default that is added only counted."""
    world = make_world(OLD.replace("vector_weight", "# vector_weight"))
    _, asker = reviewed(world, {"review": "leave", "auto_save": "no"}, backend="postgres")
    changed = [line for line in asker.said if line.startswith(("+ ", "- "))]
    assert changed == [
        '- backend = "sqlite"          # where',
        "- auto_save = true",
        '+ backend = "postgres"          # where',
        "+ auto_save = false",
        "+ [storage.provider.config]",
        '+ provider = "postgres"',
        '+ db_url = "postgres://zeroclaw:••••@127.0.0.1:1/memory"    encrypted',
    ]
    assert "hygiene_enabled = false, archive_after_days = 0" in asker.all_said
    folded = r"^  and 1 line of comments and blanks, \d+ defaults, 3 changes with the backend$"
    assert re.search(folded, asker.all_said, re.MULTILINE)


def test_every_line_of_the_change_can_be_shown(make_world: MakeWorld, probes: FakeProbes) -> None:
    walked, asker = reviewed(make_world(OLD), {"review": ["lines", "leave"]}, backend="markdown")
    assert walked.plan is not None
    (folded,) = [number for number, line in enumerate(asker.said) if line.startswith("  and ")]
    changed = ndiff(walked.plan.before.text.splitlines(), walked.plan.after.text.splitlines())
    expected = [line.rstrip() for line in changed if line.startswith(("+ ", "- "))]
    assert sorted(line for line in asker.said[folded:] if line.startswith(("+ ", "- "))) == sorted(expected)
    assert [("lines" in moment.values) for moment in asker.moments if moment.name == "review"] == [True, False]
    assert "Working out what changes …" in asker.worked


def test_a_review_that_shows_every_line_offers_no_more(make_world: MakeWorld, probes: FakeProbes) -> None:
    _, asker = reviewed(make_world(OLD), {"review": "leave", "auto_save": "no"})
    assert "lines" not in asker.moments[-1].values


def test_a_few_added_defaults_of_an_old_file_are_named(make_world: MakeWorld, probes: FakeProbes) -> None:
    _, asker = reviewed(make_world("[memory]\nbackend = 'sqlite'\n"), {"review": "leave", THRESHOLD: "0.5"})
    assert "+ min_relevance_score = 0.5" in asker.said
    assert "  and 1 default: auto_save = true" in asker.said
