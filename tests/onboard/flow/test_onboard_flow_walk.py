"""The walk through the questions: the result depends only on the final answers, whatever the path."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st
from onboard_flow_world import FORMS, flow_world, given, ids, other, outcome, valid_texts, with_backend
from support.scripted_asker import ENTER, Moment, Reply, ScriptedAsker
from support.wizard_world import BACKENDS, World

from zeroclaw_tui.onboard.flow import walk
from zeroclaw_tui.onboard.plan import apply_plan
from zeroclaw_tui.onboard.prompts import Move

MakeWorld = Callable[..., World]
every_form = pytest.mark.parametrize("form", FORMS)
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def different(backend: str, moment: Moment) -> Reply:
    """Return a different answer to every question except the backend."""
    if moment.question is None or moment.question.setting == "memory.backend":
        return with_backend(backend, moment)
    reply = with_backend(backend, moment)
    return other(moment) if reply is ENTER else reply


@every_form
@every_backend
def test_answering_straight_through_writes_the_answers(form: str, backend: str, make_world: MakeWorld) -> None:
    world = make_world(FORMS[form])
    asker = ScriptedAsker(partial(different, backend))
    walked = walk(asker, world.answers(), tests=False)
    assert walked.is_to_write
    assert asker.names() == ids(walked.answers), "each question must be asked once, in order"
    assert walked.plan is not None
    apply_plan(walked.plan)

    again = walk(ScriptedAsker(), world.answers(), tests=False)
    assert again.answers.backend() == backend
    for name, value in given(walked.answers).items():
        if name != "memory.backend" and name in [change.name for change in walked.plan.changes]:
            assert again.answers.current(name) == value, name
    assert again.plan is not None
    assert again.plan.is_empty


def test_back_at_the_first_question_has_no_effect_and_says_so(make_world: MakeWorld) -> None:
    asker = ScriptedAsker([Move.BACK])
    walk(asker, make_world(FORMS["old"]).answers(), tests=False)
    assert asker.names()[0] == asker.names()[1]
    assert "This is the first question" in asker.all_said


@examples(data=st.data(), form=st.sampled_from(sorted(FORMS)))
def test_any_walk_gives_the_plan_of_its_final_answers(data: st.DataObject, form: str) -> None:
    """After any path, answering the final values straight through gives the same answers and plan."""
    with tempfile.TemporaryDirectory() as folder:
        world = flow_world(Path(folder), FORMS[form])
        answers = world.answers()

        def wander(moment: Moment) -> Reply:
            if moment.kind == "menu":
                if len(asker.moments) < 40 and moment.name == "review":
                    return data.draw(
                        st.sampled_from(["change", Move.BACK, "write" if "write" in moment.values else "leave"])
                    )
                return ENTER
            texts = [*valid_texts(moment)]
            if len(asker.moments) > 40 or (not moment.preset and texts and data.draw(st.booleans())):
                return ENTER if moment.preset or not _is_needed(moment) else texts[0]
            moves: list[Reply] = [Move.BACK, *texts]
            return data.draw(st.sampled_from([*moves, ENTER] if not _is_needed(moment) else moves))

        asker = ScriptedAsker(wander)
        wandered = walk(asker, answers, tests=False)
        final = wandered.answers
        if wandered.plan is None:
            assert final.missing(), "only a missing answer may leave the review without a plan"
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
