"""Tests of what was answered: once for the same answers, and three ways on when one is bad."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from onboard_flow_world import FORMS, OLD, POSTGRES_URL, FakeProbes, bad, given, with_backend
from support.scripted_asker import ENTER, Moment, Reply, ScriptedAsker, answering
from support.wizard_world import World

from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.flow import walk

MakeWorld = Callable[..., World]
WITH_EMBEDDINGS = OLD.replace('embedding_provider = "none"', 'embedding_provider = "custom:http://127.0.0.1:1/v1"')
DIMENSIONS = "memory.embedding_dimensions"
API_KEY = "memory.embedding_api_key"
DB_URL = "storage.postgres.db_url"


def test_a_test_runs_once_for_the_same_answers_and_again_when_they_change(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    other = POSTGRES_URL.replace("/memory", "/second")
    replies = {"review": ["change", "change", "write"], "postgres.db_url": [POSTGRES_URL, ENTER, other]}
    asker = ScriptedAsker(answering(replies, lambda moment: with_backend("postgres", moment)))
    walk(asker, make_world(FORMS["old"]).answers())
    assert asker.names().count("postgres.db_url") == 3
    assert probes.tested == ["postgres", "postgres"]


def test_a_bad_test_accepted_anyway_continues_and_is_in_the_review(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["sqlite"] = [bad("sqlite", facts=("the folder is not writable",))]
    asker = ScriptedAsker(answering({"bad test": "keep"}))
    walked = walk(asker, make_world(FORMS["old"]).answers())
    assert asker.names("menu") == ["bad test", "review"]
    assert asker.all_said.count("sqlite does not answer") == 2, "told at once and in the review"
    assert "the folder is not writable" in asker.all_said
    assert "Start it." in asker.all_said
    assert given(walked.answers) == {}


def test_a_correction_is_offered_recorded_and_tested(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["embedding"] = [bad("embedding", corrections={DIMENSIONS: 768})]
    asker = ScriptedAsker(answering({"bad test": "correct"}))
    walked = walk(asker, make_world(WITH_EMBEDDINGS).answers())
    assert probes.tested == ["sqlite", "embedding", "embedding"]
    assert given(walked.answers) == {DIMENSIONS: 768}
    menu = next(moment for moment in asker.moments if moment.name == "bad test")
    assert menu.values == ("correct", "again", "keep", "elsewhere")


def basics(world: World, **given: str) -> Answers:
    return replace(world.answers(**given), is_basic=True)


def asked_after(asker: ScriptedAsker, menu: str) -> list[str]:
    """The questions asked after the first menu of this name."""
    names = [moment.name for moment in asker.moments]
    return [moment.name for moment in asker.moments[names.index(menu) :] if moment.question]


def test_changing_a_wrong_answer_in_the_basics_asks_for_that_alone_and_stays_in_the_basics(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    probes.findings["postgres"] = [bad("postgres", wrong=(DB_URL,))]
    asker = ScriptedAsker(answering({"bad test": ENTER}, lambda moment: with_backend("postgres", moment)))
    walk(asker, basics(make_world(FORMS["new"])))
    assert asker.names() == ["backend", "postgres.db_url", "postgres.db_url"]
    assert probes.tested == ["postgres", "postgres"]
    menu = next(moment for moment in asker.moments if moment.name == "bad test")
    assert menu.titles == ("Change the answer and test again", "Keep it", "Choose another backend")


def test_a_refused_key_is_asked_for_although_the_basics_do_not(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["embedding"] = [bad("embedding", wrong=(API_KEY,))]
    world = make_world("schema_version = 3\n" + WITH_EMBEDDINGS.replace('"sqlite"', '"sqlite.default"'))
    asker = ScriptedAsker(answering({"bad test": "change", "embedding_api_key": "sk-new"}))
    walked = walk(asker, basics(world))
    assert asked_after(asker, "bad test") == ["embedding_api_key"]
    assert given(walked.answers) == {API_KEY: "sk-new"}
    assert probes.tested == ["sqlite", "embedding", "embedding"]


def test_lucid_that_is_not_installed_can_be_installed_and_tested_again(make_world: MakeWorld) -> None:
    world = make_world(FORMS["new"])
    program = world.home / "bin" / "lucid"

    def script(moment: Moment) -> Reply:
        if moment.name == "bad test":
            program.parent.mkdir()
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
        return with_backend("lucid", moment)

    asker = ScriptedAsker(script)
    walk(asker, basics(world))
    menu = next(moment for moment in asker.moments if moment.name == "bad test")
    assert menu.titles == ("Install Lucid and test again", "Keep it", "Choose another backend")
    assert "lucid was not found" in asker.all_said
    assert "✓ Lucid: lucid answers" in asker.all_said
    assert len(asker.names()) == len(set(asker.names())), "no question is asked twice"


def test_without_a_driver_the_command_that_installs_it_is_shown_first_and_nothing_is_run(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("probe", "store", "connect"):
        monkeypatch.delitem(sys.modules, f"zeroclaw_tui.backends.postgres.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    asker = ScriptedAsker(answering({"bad test": "keep"}, lambda moment: with_backend("postgres", moment)))
    walk(asker, basics(make_world(FORMS["new"])))
    menu = next(moment for moment in asker.moments if moment.name == "bad test")
    assert menu.titles == ("Install the driver and test again", "Keep it", "Choose another backend")
    assert "-m pip install asyncpg" in asker.all_said


def test_another_backend_can_be_chosen_after_a_failed_test(make_world: MakeWorld, probes: FakeProbes) -> None:
    probes.findings["qdrant"] = [bad("qdrant")]
    script = answering({"backend": ["qdrant", "none"], "qdrant.url": "http://127.0.0.1:1", "bad test": "elsewhere"})
    walked = walk(ScriptedAsker(script), basics(make_world(FORMS["old"])))
    assert walked.answers.backend() == "none"
