"""Answers kept between two runs: the same answers again, no secrets, and nothing else on the disk."""

from __future__ import annotations

import stat
from collections.abc import Callable
from functools import partial

import pytest
from onboard_flow_world import (
    EACH_ONCE,
    FORMS,
    OLD,
    PASSWORD,
    POSTGRES_URL,
    FakeProbes,
    World,
    given,
    ids,
    other,
    outcome,
    with_backend,
)
from support.scripted_asker import ENTER, Moment, Reply, ScriptedAsker, answering

from zeroclaw_tui.config.setting_names import SETTINGS
from zeroclaw_tui.onboard.answers import Given
from zeroclaw_tui.onboard.flow import forget_progress, keep_progress, kept_progress, walk
from zeroclaw_tui.onboard.wizard import Request, run_wizard

MakeWorld = Callable[..., World]


def different(backend: str, moment: Moment) -> Reply:
    reply = with_backend(backend, moment)
    is_backend = moment.question is not None and moment.question.setting == "memory.backend"
    return other(moment) if reply is ENTER and moment.question and not is_backend else reply


def stopping_at(number: int, script: Callable[[Moment], Reply]) -> Callable[[Moment], Reply]:
    count = 0

    def stopping(moment: Moment) -> Reply:
        nonlocal count
        count += 1
        return KeyboardInterrupt if count == number else script(moment)

    return stopping


def without_secrets(answers: dict[str, object]) -> dict[str, object]:
    return {
        name: value for name, value in answers.items() if not SETTINGS[name].is_secret and PASSWORD not in str(value)
    }


@pytest.mark.parametrize(("form", "backend"), EACH_ONCE)
def test_stopped_anywhere_it_goes_on_with_the_same_answers(
    form: str, backend: str, make_world: MakeWorld, probes: FakeProbes
) -> None:
    """Each question of every backend is stopped at with two of them."""
    world = make_world(FORMS[form])
    script = partial(different, backend)
    straight = walk(ScriptedAsker(script), world.answers())
    for number in range(2 + list(FORMS).index(form), len(ids(straight.answers)) + 2, len(FORMS)):
        asker = ScriptedAsker(stopping_at(number, script))
        with pytest.raises(KeyboardInterrupt):
            walk(asker, world.answers())
        kept = kept_progress(world.situation())
        assert kept is not None
        assert kept.question_id == asker.moments[-1].name, "it goes on at the question where it stopped"
        assert PASSWORD.encode() not in world.kept_file.read_bytes()
        again = walk(ScriptedAsker(script), kept.answers, start=(kept.question_id,))
        assert without_secrets(given(again.answers)) == without_secrets(given(straight.answers))


def test_the_kept_file_is_private_and_the_only_new_one(make_world: MakeWorld) -> None:
    world = make_world(FORMS["old"])
    before = world.files()
    keep_progress(world.answers(), "memory.backend")
    assert {name: text for name, text in world.files().items() if "onboard.toml" not in name} == before
    assert stat.S_IMODE(world.kept_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(world.kept_file.parent.stat().st_mode) == 0o700


def test_no_secret_is_kept_wherever_it_was_typed(make_world: MakeWorld) -> None:
    world = make_world(FORMS["aliased"])
    answers = world.answers()
    for name, key in SETTINGS.items():
        if key.is_secret:
            answers = answers.with_given(name, Given(f"postgres://u:{PASSWORD}@h/d", "answered"))
    url = f"custom:https://user:{PASSWORD}@host/v1"
    answers = answers.with_given("memory.embedding_provider", Given(url, "answered"))
    answers = answers.with_given("memory.embedding_model", Given(f"sk-{PASSWORD}", "answered"))
    answers = answers.with_given("memory.vector_weight", Given(0.25, "answered"))
    keep_progress(answers, "x")
    assert PASSWORD not in world.kept_file.read_text()
    kept = kept_progress(world.situation())
    assert kept is not None
    assert given(kept.answers) == {"memory.vector_weight": 0.25}


def test_the_way_to_go_on_says_what_the_flags_said(make_world: MakeWorld, probes: FakeProbes) -> None:
    """The command told has none of them, and what they answered is not asked now either."""
    world = make_world(FORMS["old"])
    flags = Request(memory="markdown", assignments=("memory.vector_weight=0.25",))
    asker = ScriptedAsker([ENTER, KeyboardInterrupt])
    with pytest.raises(KeyboardInterrupt):
        run_wizard(asker, flags, world.environ)
    assert "Memory     sqlite  in use today; markdown by --memory" in asker.said
    assert asker.said[-1] == "    zeroclaw onboard --interactive"
    again = ScriptedAsker()
    run_wizard(again, Request(), world.environ)
    assert again.moments[1].name == asker.moments[1].name
    text = world.config_file.read_text()
    assert 'backend = "markdown"' in text
    assert "vector_weight = 0.25" in text


def test_a_secret_of_a_flag_that_no_question_asks_for_is_named(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    flags = Request(assignments=(f"embedding_provider=custom:http://u:{PASSWORD}@h/v1",))
    script: list[Reply] = ["markdown", ENTER, KeyboardInterrupt]
    told = "! memory.embedding_provider: a secret is not kept, so give it again with --set."
    for given_again in (Request(), flags):
        with pytest.raises(KeyboardInterrupt):
            run_wizard(ScriptedAsker(script), flags, world.environ)
        assert PASSWORD not in world.kept_file.read_text()
        asker = ScriptedAsker(answering({"review": "leave"}))
        run_wizard(asker, given_again, world.environ)
        assert (told in asker.said) == (given_again is not flags)


def test_a_flag_stands_above_what_an_earlier_one_said(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    with pytest.raises(KeyboardInterrupt):
        run_wizard(ScriptedAsker([ENTER, KeyboardInterrupt]), Request(memory="markdown"), world.environ)
    run_wizard(ScriptedAsker(), Request(memory="none"), world.environ)
    assert 'backend = "none"' in world.config_file.read_text()


@pytest.mark.parametrize("form", ["old", "new"])
def test_kept_answers_go_on_with_a_config_that_has_changed_since(
    form: str, make_world: MakeWorld, probes: FakeProbes
) -> None:
    world = make_world(FORMS[form])
    with pytest.raises(KeyboardInterrupt):
        run_wizard(ScriptedAsker(["markdown", KeyboardInterrupt]), Request(), world.environ)
    world.config_dir.mkdir(exist_ok=True)
    world.config_file.write_text(OLD + "\n# more\n")
    asker = ScriptedAsker()
    run_wizard(asker, Request(), world.environ)
    assert asker.moments[0].title.startswith("Go on where you stopped (question 2 of ")
    assert "the config has changed since" in asker.moments[0].title
    text = world.config_file.read_text()
    assert text.endswith("\n# more\n")
    assert 'backend = "markdown"' in text


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: b"[[[",
        lambda text: b"\xff\xfe",
        lambda text: text.replace(b"format = 1", b"format = 2"),
        lambda text: text.replace(b"0.25", b'"much"'),
        lambda text: text.replace(b"memory.vector_weight", b"memory.nonsense"),
        lambda text: text.replace(b'question = "x"', b"question = 3"),
        lambda text: text.split(b"[answers]")[0],
    ],
)
def test_a_kept_file_that_cannot_be_used_is_as_if_there_were_none(
    damage: Callable[[bytes], bytes], make_world: MakeWorld
) -> None:
    world = make_world(FORMS["old"])
    keep_progress(world.answers().with_given("memory.vector_weight", Given(0.25, "answered")), "x")
    whole = world.kept_file.read_bytes()
    assert damage(whole) != whole
    world.kept_file.write_bytes(damage(whole))
    assert kept_progress(world.situation()) is None


def test_forgetting_removes_it_and_is_nothing_where_there_is_none(make_world: MakeWorld) -> None:
    world = make_world(FORMS["old"])
    forget_progress(world.situation())
    keep_progress(world.answers(), "x")
    forget_progress(world.situation())
    assert not world.kept_file.exists()


def test_where_nothing_can_be_kept_it_says_so_once_and_goes_on(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    world.kept_file.parent.write_text("in the way")
    asker = ScriptedAsker(partial(different, "sqlite"))
    walked = walk(asker, world.answers())
    assert walked.ending == "write"
    assert asker.all_said.count("not kept") == 1


def test_a_flag_stands_above_what_was_kept(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    keep_progress(world.answers().with_given("memory.vector_weight", Given(0.25, "answered")), "memory.backend")
    asker = ScriptedAsker()
    request = Request(assignments=("vector_weight=0.5",))
    run_wizard(asker, request, world.environ)
    assert asker.names("menu")[0] == "go on"
    assert "vector_weight = 0.5" in world.config_file.read_text()


def test_going_on_asks_from_where_it_stopped_and_writes_the_same(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    script = partial(different, "sqlite")
    straight = walk(ScriptedAsker(script), world.answers(), dry_run=True)
    with pytest.raises(KeyboardInterrupt):
        run_wizard(ScriptedAsker(stopping_at(5, script)), Request(), world.environ)
    asker = ScriptedAsker(script)
    run_wizard(asker, Request(), world.environ)
    assert asker.moments[0].title.startswith("Go on where you stopped (question 5 of ")
    assert asker.names() == ids(straight.answers)[4:]
    assert straight.plan is not None
    assert world.config_file.read_bytes() == straight.plan.after.to_bytes()
    assert not world.kept_file.exists()


def test_starting_anew_drops_what_was_kept(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    keep_progress(world.answers().with_given("memory.vector_weight", Given(0.25, "answered")), "x")
    asker = ScriptedAsker(lambda moment: "anew" if moment.name == "go on" else ENTER)
    run_wizard(asker, Request(), world.environ)
    assert asker.names() == ids(world.answers())
    assert world.config_file.read_text() == OLD
    assert outcome(walk(ScriptedAsker(), world.answers()).plan) == []


def test_a_secret_is_asked_again_first_and_then_it_goes_on_where_it_stopped(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    world = make_world(FORMS["old"])
    script = partial(different, "postgres")
    stopped = ScriptedAsker(stopping_at(6, script))
    with pytest.raises(KeyboardInterrupt):
        run_wizard(stopped, Request(), world.environ)
    asker = ScriptedAsker(script)
    run_wizard(asker, Request(), world.environ)
    assert asker.names()[:2] == ["postgres.db_url", stopped.moments[-1].name]
    assert "Secrets are not kept" in asker.all_said
    assert world.answers().current("storage.postgres.db_url") == POSTGRES_URL
    assert PASSWORD not in world.config_file.read_text()
