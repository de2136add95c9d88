"""The walk: forward, back, jumping and accepting the rest all end in what the answers say, and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st
from onboard_flow_world import (
    BACKENDS,
    EACH_ONCE,
    EACH_ONCE_ELSEWHERE,
    FORMS,
    POSTGRES_URL,
    FakeProbes,
    World,
    everything,
    given,
    ids,
    other,
    outcome,
    valid_texts,
    with_backend,
)
from support.scripted_asker import ENTER, Moment, Reply, ScriptedAsker

from zeroclaw_tui.config.setting_names import is_read
from zeroclaw_tui.onboard.flow import FlowResult, walk
from zeroclaw_tui.onboard.plan import apply_plan
from zeroclaw_tui.onboard.prompts import Move
from zeroclaw_tui.onboard.questions import QUESTIONS, asked

MakeWorld = Callable[..., World]
every_form = pytest.mark.parametrize("form", FORMS)
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def different(backend: str, moment: Moment) -> Reply:
    """Another answer to everything but the backend."""
    if moment.question is None or moment.question.setting == "memory.backend":
        return with_backend(backend, moment)
    reply = with_backend(backend, moment)
    return other(moment) if reply is ENTER else reply


def walked_with(
    world: World, script: Callable[[Moment], Reply], *, tests: bool = False
) -> tuple[FlowResult, ScriptedAsker]:
    asker = ScriptedAsker(script)
    return walk(asker, world.answers(), tests=tests), asker


@every_form
@every_backend
def test_straight_through_writes_what_was_answered(form: str, backend: str, make_world: MakeWorld) -> None:
    world = make_world(FORMS[form])
    asker = ScriptedAsker(partial(different, backend))
    walked = walk(asker, world.answers(), tests=False)
    assert walked.ending == "write"
    assert asker.names() == ids(walked.answers), "each question once, in order"
    assert walked.plan is not None
    apply_plan(walked.plan)

    again = walk(ScriptedAsker(), world.answers(), tests=False)
    assert again.answers.backend() == backend
    for name, value in given(walked.answers).items():
        if name != "memory.backend" and name in [change.name for change in walked.plan.changes]:
            assert again.answers.current(name) == value, name
    assert again.plan is not None
    assert again.plan.is_empty


@every_form
def test_enter_everywhere_answers_nothing(form: str, make_world: MakeWorld) -> None:
    walked, asker = walked_with(make_world(FORMS[form]), lambda moment: ENTER)
    assert given(walked.answers) == {}
    assert len(asker.names()) > 5


@pytest.mark.parametrize(
    ("way", "form", "backend"),
    [(different, *pair) for pair in EACH_ONCE] + [(everything, *pair) for pair in EACH_ONCE_ELSEWHERE],
)
def test_back_and_forth_through_every_question_is_the_same_as_straight_through(
    way: Callable[[str, Moment], Reply], form: str, backend: str, make_world: MakeWorld
) -> None:
    world = make_world(FORMS[form])
    straight, _ = walked_with(world, partial(way, backend))
    seen: dict[str, list[Moment]] = {}

    def back_and_forth(moment: Moment) -> Reply:
        visits = seen.setdefault(moment.name, [])
        visits.append(moment)
        if moment.kind != "question":
            return ENTER
        if len(visits) == 1:
            # Coming here for the first time, it first goes back and answers the one before again.
            return Move.BACK
        if len(visits) == 2:
            return way(backend, moment)
        return ENTER

    walked, asker = walked_with(world, back_and_forth)
    assert given(walked.answers) == given(straight.answers)
    assert outcome(walked.plan) == outcome(straight.plan)
    assert all(len(visits) >= 2 for name, visits in seen.items() if name != "review"), asker.names()


def test_back_keeps_the_answer_and_offers_it(make_world: MakeWorld) -> None:
    replies: list[Reply] = [ENTER, ENTER]
    shown: list[tuple[str, str | None]] = []

    def script(moment: Moment) -> Reply:
        shown.append((moment.name, moment.preset))
        if len(shown) == 1:
            return "postgres"
        if len(shown) == 2:
            return POSTGRES_URL
        if len(shown) == 3:
            return Move.BACK
        return replies.pop() if replies and moment.kind == "question" else Move.REST if moment.question else ENTER

    walked, _ = walked_with(make_world(FORMS["old"]), script)
    assert shown[3] == (shown[1][0], POSTGRES_URL)
    assert walked.answers.value("storage.postgres.db_url") == POSTGRES_URL


def test_back_at_the_first_question_stays_and_says_so(make_world: MakeWorld) -> None:
    asker = ScriptedAsker([Move.BACK])
    walk(asker, make_world(FORMS["old"]).answers(), tests=False)
    assert asker.names()[0] == asker.names()[1]
    assert "This is the first question" in asker.all_said


def test_answers_for_a_backend_that_was_left_again_do_not_count(make_world: MakeWorld) -> None:
    world = make_world(FORMS["old"])
    visits = 0

    def script(moment: Moment) -> Reply:
        nonlocal visits
        if moment.question is None:
            return ENTER
        if moment.question.setting == "memory.backend":
            visits += 1
            return "postgres" if visits == 1 else "sqlite"
        if moment.question.setting == "storage.postgres.db_url" and not moment.preset:
            return POSTGRES_URL
        return Move.BACK if visits == 1 else ENTER

    walked, asker = walked_with(world, script)
    assert visits == 2, asker.names()
    assert given(walked.answers) == {}
    assert walked.plan is not None
    assert walked.plan.is_empty


def test_what_a_flag_says_is_not_asked_but_can_be_changed_from_the_overview(make_world: MakeWorld) -> None:
    world = make_world(FORMS["old"])
    straight = ScriptedAsker()
    answers = world.answers(memory="sqlite", min_relevance_score="0.5")
    walk(straight, answers, tests=False)
    skipped = {
        question.id
        for question in asked(answers)
        if question.setting in ("memory.backend", "memory.min_relevance_score")
    }
    assert len(skipped) == 2
    assert not skipped & set(straight.names())

    threshold = next(question.id for question in asked(answers) if question.setting == "memory.min_relevance_score")

    def script(moment: Moment) -> Reply:
        if moment.name == "overview":
            assert threshold in moment.values
            return threshold
        if moment.name == threshold:
            return "0.25"
        return Move.OVERVIEW if len(asker.moments) == 1 else ENTER

    asker = ScriptedAsker(script)
    walked = walk(asker, answers, tests=False)
    assert walked.answers.value("memory.min_relevance_score") == 0.25
    assert threshold in asker.names()


def test_the_overview_leads_on_from_the_question_chosen_and_back_to_where_one_was(make_world: MakeWorld) -> None:
    world = make_world(FORMS["old"])
    order = ids(world.answers())
    replies: list[Reply] = [ENTER, Move.OVERVIEW, Move.BACK, Move.OVERVIEW, order[4], ENTER]
    asker = ScriptedAsker(replies)
    walk(asker, world.answers(), tests=False)
    assert asker.names() == [order[0], order[1], order[1], *order[4:]]


@every_form
def test_every_question_of_every_backend_is_among_those_walked(form: str, make_world: MakeWorld) -> None:
    """What the tests above go through is all there is: no question of this form is left out by their answers."""
    answers = make_world(FORMS[form]).answers()
    met: set[str] = set()
    for backend in BACKENDS:
        for way in (different, everything):
            asker = ScriptedAsker(partial(way, backend))
            walk(asker, answers, tests=False)
            met.update(asker.names())
    readable = {question.id for question in QUESTIONS if is_read(question.setting, answers.situation.target)}
    assert met == readable


def test_accepting_the_rest_is_pressing_enter_to_the_end(make_world: MakeWorld) -> None:
    world = make_world(FORMS["old"])
    with_enter, _ = walked_with(world, partial(with_backend, "markdown"))
    asker = ScriptedAsker(["markdown", Move.REST])
    at_once = walk(asker, world.answers(), tests=False)
    assert asker.names() == ids(at_once.answers)[:2]
    assert given(at_once.answers) == given(with_enter.answers)
    assert outcome(at_once.plan) == outcome(with_enter.plan)


def test_accepting_the_rest_still_asks_what_the_backend_cannot_do_without(make_world: MakeWorld) -> None:
    world = make_world(FORMS["old"])

    def script(moment: Moment) -> Reply:
        if moment.question is None:
            return ENTER
        if moment.question.setting == "memory.backend":
            return "postgres"
        if moment.preset:
            return Move.REST
        urls = [seen for seen in asker.moments if seen.name == moment.name]
        return Move.REST if len(urls) == 1 else POSTGRES_URL

    asker = ScriptedAsker(script)
    walked = walk(asker, world.answers(), tests=False)
    settings_asked = [moment.question.setting for moment in asker.moments if moment.question]
    assert settings_asked == ["memory.backend", "storage.postgres.db_url", "storage.postgres.db_url"]
    assert "needs an answer" in asker.all_said
    assert walked.ending == "write"
    assert walked.answers.value("storage.postgres.db_url") == POSTGRES_URL


@examples(data=st.data(), form=st.sampled_from(sorted(FORMS)))
def test_any_walk_ends_in_the_plan_of_its_last_answers(data: st.DataObject, form: str) -> None:
    """Whatever way was taken, answering the final values straight through gives the same answers and the same plan."""
    with tempfile.TemporaryDirectory() as folder:
        world = World.made(Path(folder, "home"), FORMS[form])
        answers = world.answers()

        def wander(moment: Moment) -> Reply:
            if moment.kind == "menu":
                if len(asker.moments) < 40 and moment.name == "review":
                    return data.draw(
                        st.sampled_from(["change", Move.BACK, "write" if "write" in moment.values else "leave"])
                    )
                if moment.name == "overview":
                    return data.draw(st.sampled_from([*moment.values, Move.BACK]))
                return ENTER
            texts = [*valid_texts(moment)]
            if len(asker.moments) > 40 or (not moment.preset and texts and data.draw(st.booleans())):
                return ENTER if moment.preset or not _is_needed(moment) else texts[0]
            moves: list[Reply] = [Move.BACK, Move.OVERVIEW, Move.REST, *texts]
            return data.draw(st.sampled_from([*moves, ENTER] if not _is_needed(moment) else moves))

        asker = ScriptedAsker(wander)
        wandered = walk(asker, answers, tests=False)
        final = wandered.answers
        if wandered.plan is None:
            assert final.missing(), "only a missing answer leaves the review without a plan"
            return

        def straight(moment: Moment) -> Reply:
            if moment.question is None:
                return ENTER
            return moment.question.present(final)

        direct = walk(ScriptedAsker(straight), answers, tests=False)
        assert given(direct.answers) == given(final)
        assert outcome(direct.plan) == outcome(wandered.plan)


def _is_needed(moment: Moment) -> bool:
    assert moment.question is not None
    assert moment.answers is not None
    return moment.question.setting in moment.answers.missing()


def test_each_question_tells_its_place_and_the_number_of_questions(make_world: MakeWorld) -> None:
    asker = ScriptedAsker()
    walked = walk(asker, make_world(FORMS["old"]).answers(), tests=False)
    count = len(ids(walked.answers))
    assert [(moment.at, moment.of) for moment in asker.moments if moment.question] == [
        (number, count) for number in range(1, count + 1)
    ]


def test_the_overview_shows_present_values_marks_changes_and_hides_secrets(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    world = make_world(FORMS["old"])
    shown: list[str] = []

    class Watching(ScriptedAsker):
        def choose(self, title, choices, *, preset=None, back=True):  # type: ignore[no-untyped-def]
            shown.extend(f"{choice.title} | {choice.about}" for choice in choices)
            return super().choose(title, choices, preset=preset, back=back)

    script: list[Reply] = ["postgres", POSTGRES_URL, Move.OVERVIEW, Move.BACK, Move.REST, "leave"]
    walk(Watching(script), world.answers(), tests=False)
    text = "\n".join(shown)
    assert "hunter2" not in text
    assert any("postgres" in line and "(changed)" in line for line in shown)
    assert any("on" in line and "(changed)" not in line for line in shown)


def test_an_empty_answer_takes_back_what_a_flag_said(make_world: MakeWorld) -> None:
    answers = make_world(FORMS["old"]).answers(**{"storage.sqlite.open_timeout_secs": "5"})
    asker = ScriptedAsker([Move.OVERVIEW, "sqlite.open_timeout_secs", ""])
    walked = walk(asker, answers, tests=False)
    assert given(walked.answers) == {}
    assert walked.answers.value("storage.sqlite.open_timeout_secs") is None
