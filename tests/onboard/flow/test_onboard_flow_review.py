"""Tests of the answers, with three choices after a bad one, and the review: write, change an answer, leave."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import ndiff

import pytest
from onboard_flow_world import FORMS, OLD, PASSWORD, POSTGRES_URL, FakeProbes, bad, given, with_backend
from support.scripted_asker import ENTER, Moment, Reply, ScriptedAsker, answering
from support.wizard_world import World

from zeroclaw_tui.onboard.flow import FlowResult, walk

MakeWorld = Callable[..., World]


def reviewed(
    world: World, replies: dict[str, Reply | Sequence[Reply]], backend: str = "sqlite", *, is_basic: bool = False
) -> tuple[FlowResult, ScriptedAsker]:
    """Answer the questions with these replies by name, the backend's required settings, and otherwise enter."""
    asker = ScriptedAsker(answering(replies, lambda moment: with_backend(backend, moment)))
    return walk(asker, replace(world.answers(), is_basic=is_basic)), asker


def menu(asker: ScriptedAsker, name: str) -> Moment:
    """Return the first menu of this name."""
    return next(moment for moment in asker.moments if moment.name == name)


def test_changing_an_answer_restarts_the_questions_with_the_earlier_answers(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    walked, asker = reviewed(
        make_world(FORMS["old"]),
        {"review": ["change", "write"], "auto_save": ["no", ENTER], "min_relevance_score": [ENTER, "0.5"]},
    )
    names = asker.names()
    assert names == names[: len(names) // 2] * 2
    assert given(walked.answers) == {"memory.auto_save": False, "memory.min_relevance_score": 0.5}
    assert walked.is_to_write
    assert probes.tested == ["sqlite"], "no tested setting has changed"


def test_no_answer_can_be_changed_if_flags_answer_everything(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    asker = ScriptedAsker(answering({"review": "leave"}))
    answers = world.answers(memory="none")
    walk(asker, answers)
    assert [moment.name for moment in asker.moments] == ["review"]
    assert "change" not in asker.moments[-1].values
    assert not asker.moments[-1].back


def test_a_plan_without_changes_says_so_and_offers_no_writing(make_world: MakeWorld, probes: FakeProbes) -> None:
    walked, asker = reviewed(make_world(FORMS["old"]), {"review": "leave"})
    assert "nothing to change" in asker.moments[-1].title
    assert "write" not in asker.moments[-1].values
    assert not walked.is_to_write


def test_an_impossible_plan_is_reported_and_cannot_be_written(make_world: MakeWorld, probes: FakeProbes) -> None:
    """A URL must be encrypted, but another value is already encrypted and its key file is missing."""
    world = make_world(OLD + 'bot_token = "enc2:0011223344556677889900112233445566778899001122334455667788990011"\n')
    walked, asker = reviewed(world, {"review": "leave"}, backend="postgres")
    assert not walked.is_to_write
    assert walked.plan is None
    assert ".secret_key" in asker.all_said
    assert "write" not in asker.moments[-1].values
    assert "change" in asker.moments[-1].values
    assert PASSWORD not in asker.all_said


def test_the_review_of_a_new_file_lists_its_keys_and_counts_the_rest(make_world: MakeWorld, probes: FakeProbes) -> None:
    walked, asker = reviewed(make_world(None), {"review": "leave"})
    assert walked.plan is not None
    lines = walked.plan.after.text.splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    shown = [line.removeprefix("+ ") for line in asker.said if line.startswith("+ ")]
    assert shown == ["schema_version = 3", "[memory]", 'backend = "sqlite.default"']
    (folded,) = [line for line in asker.said if line.startswith("  and ")]
    left_out = [key for key in keys if key not in shown]
    message = f"  and {len(lines) - len(keys)} lines of comments and blanks, {len(left_out)} defaults: "
    assert folded == message + ", ".join(left_out)
    assert asker.moments[-1].title == f"~/.zeroclaw/config.toml: a new file of {len(lines)} lines. What now?"


def test_the_review_of_an_old_file_shows_answered_and_removed_lines(make_world: MakeWorld, probes: FakeProbes) -> None:
    """Settings that come with the backend are in a note, and added defaults are only counted."""
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
    folded = r"^  and 1 line of comments and blanks, 1 default: embedding_cache_size = 0, 3 changes with the backend$"
    assert re.search(folded, asker.all_said, re.MULTILINE)


def test_every_line_of_the_change_can_be_shown(make_world: MakeWorld, probes: FakeProbes) -> None:
    walked, asker = reviewed(make_world(OLD), {"review": ["lines", "leave"]}, backend="markdown")
    assert walked.plan is not None
    (folded,) = [number for number, line in enumerate(asker.said) if line.startswith("  and ")]
    changed = ndiff(walked.plan.before.text.splitlines(), walked.plan.after.text.splitlines())
    expected = [line.rstrip() for line in changed if line.startswith(("+ ", "- "))]
    assert sorted(line for line in asker.said[folded:] if line.startswith(("+ ", "- "))) == sorted(expected)
    assert [("lines" in moment.values) for moment in asker.moments if moment.name == "review"] == [True, False]
    assert "Comparing with config.toml …" in asker.worked


WITH_EMBEDDINGS = OLD.replace('embedding_provider = "none"', 'embedding_provider = "custom:http://127.0.0.1:1/v1"')


def test_a_test_runs_again_only_when_its_answers_change(make_world: MakeWorld, probes: FakeProbes) -> None:
    other = POSTGRES_URL.replace("/memory", "/second")
    replies = {"review": ["change", "change", "write"], "postgres.db_url": [POSTGRES_URL, ENTER, other]}
    _, asker = reviewed(make_world(OLD), replies, "postgres")
    assert asker.names().count("postgres.db_url") == 3
    assert probes.tested == ["postgres", "postgres"]


def test_an_accepted_bad_test_is_listed_in_the_review(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["sqlite"] = [bad("sqlite", facts=("the folder is not writable",))]
    walked, asker = reviewed(make_world(OLD), {"bad test": "keep"})
    assert asker.names("menu") == ["bad test", "review"]
    assert asker.all_said.count("sqlite does not answer") == 2, "it must be shown at once and in the review"
    assert "the folder is not writable" in asker.all_said
    assert "Start it." in asker.all_said
    assert given(walked.answers) == {}


def test_a_correction_is_offered_applied_and_tested(make_world: MakeWorld, probes: FakeProbes) -> None:
    correction = {"memory.embedding_dimensions": 768}
    probes.findings["embedding"] = [bad("embedding", corrections=correction)]
    walked, asker = reviewed(make_world(WITH_EMBEDDINGS), {"bad test": "correct"})
    assert probes.tested == ["sqlite", "embedding", "embedding"]
    assert given(walked.answers) == correction
    assert menu(asker, "bad test").values == ("correct", "again", "keep", "elsewhere")


def test_changing_a_wrong_answer_in_the_basics_asks_only_for_that_one(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    probes.findings["postgres"] = [bad("postgres", wrong=("storage.postgres.db_url",))]
    _, asker = reviewed(make_world(None), {"bad test": ENTER}, "postgres", is_basic=True)
    assert asker.names() == ["backend", "postgres.db_url", "postgres.db_url"]
    assert probes.tested == ["postgres", "postgres"]
    titles = ("Change the answer and test again", "Keep it", "Choose another backend")
    assert menu(asker, "bad test").titles == titles


def test_a_refused_key_is_asked_for_even_in_the_basics(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["embedding"] = [bad("embedding", wrong=("memory.embedding_api_key",))]
    world = make_world("schema_version = 3\n" + WITH_EMBEDDINGS.replace('"sqlite"', '"sqlite.default"'))
    walked, asker = reviewed(world, {"bad test": "change", "embedding_api_key": "sk-new"}, is_basic=True)
    after = asker.moments[asker.moments.index(menu(asker, "bad test")) :]
    assert [moment.name for moment in after if moment.question] == ["embedding_api_key"]
    assert given(walked.answers)["memory.embedding_api_key"] == "sk-new"
    assert probes.tested == ["sqlite", "embedding", "embedding"]


def test_lucid_that_is_not_installed_can_be_installed_and_tested_again(make_world: MakeWorld) -> None:
    world = make_world(None)
    program = world.home / "bin" / "lucid"

    def script(moment: Moment) -> Reply:
        if moment.name == "bad test":
            program.parent.mkdir()
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
        return with_backend("lucid", moment)

    asker = ScriptedAsker(script)
    walk(asker, replace(world.answers(), is_basic=True))
    titles = ("Install Lucid and test again", "Keep it", "Choose another backend")
    assert menu(asker, "bad test").titles == titles
    assert "lucid was not found" in asker.all_said
    assert "✓ Lucid: lucid answers" in asker.all_said
    assert len(asker.names()) == len(set(asker.names())), "no question may be asked twice"


def test_a_missing_driver_shows_its_install_command_and_runs_nothing(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("probe", "store", "connect"):
        monkeypatch.delitem(sys.modules, f"zeroclaw_tui.backends.postgres.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    _, asker = reviewed(make_world(None), {"bad test": "keep"}, "postgres", is_basic=True)
    titles = ("Install the driver and test again", "Keep it", "Choose another backend")
    assert menu(asker, "bad test").titles == titles
    assert "-m pip install asyncpg" in asker.all_said


def test_another_backend_can_be_chosen_after_a_failed_test(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["qdrant"] = [bad("qdrant")]
    replies = {"backend": ["qdrant", "none"], "qdrant.url": "http://127.0.0.1:1", "bad test": "elsewhere"}
    walked, _ = reviewed(make_world(OLD), replies, is_basic=True)
    assert walked.answers.backend() == "none"
