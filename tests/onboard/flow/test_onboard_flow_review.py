"""The review: write, change an answer, leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import ndiff

from onboard_flow_world import FORMS, OLD, PASSWORD, FakeProbes, given, with_backend
from support.scripted_asker import ENTER, Reply, ScriptedAsker, answering
from support.wizard_world import World

from zeroclaw_tui.onboard.flow import FlowResult, walk

MakeWorld = Callable[..., World]


def reviewed(
    world: World, replies: dict[str, Reply | Sequence[Reply]], backend: str = "sqlite"
) -> tuple[FlowResult, ScriptedAsker]:
    asker = ScriptedAsker(answering(replies, lambda moment: with_backend(backend, moment)))
    return walk(asker, world.answers()), asker


def test_changing_an_answer_asks_again_from_the_start_and_offers_what_was_answered(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    walked, asker = reviewed(
        make_world(FORMS["old"]),
        {"review": ["change", "write"], "auto_save": ["no", ENTER], "min_relevance_score": [ENTER, "0.5"]},
    )
    names = asker.names()
    assert names == names[: len(names) // 2] * 2
    assert given(walked.answers) == {"memory.auto_save": False, "memory.min_relevance_score": 0.5}
    assert walked.ending == "write"
    assert probes.tested == ["sqlite"], "nothing that is tested changed"


def test_where_flags_answer_everything_no_answer_can_be_changed(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(FORMS["old"])
    asker = ScriptedAsker(answering({"review": "leave"}))
    answers = world.answers(memory="none")
    walk(asker, answers)
    assert [moment.name for moment in asker.moments] == ["review"]
    assert "change" not in asker.moments[-1].values
    assert not asker.moments[-1].back


def test_nothing_to_change_says_so_and_offers_no_writing(make_world: MakeWorld, probes: FakeProbes) -> None:
    walked, asker = reviewed(make_world(FORMS["old"]), {"review": "leave"})
    assert "nothing to change" in asker.moments[-1].title
    assert "write" not in asker.moments[-1].values
    assert walked.ending == "leave"


def test_a_plan_that_cannot_be_made_is_reported_and_nothing_can_be_written(
    make_world: MakeWorld, probes: FakeProbes
) -> None:
    """An address must be encrypted, but the key file is missing next to a value that is encrypted already."""
    world = make_world(OLD + 'bot_token = "enc2:0011223344556677889900112233445566778899001122334455667788990011"\n')
    walked, asker = reviewed(world, {"review": "leave"}, backend="postgres")
    assert walked.ending == "leave"
    assert walked.plan is None
    assert ".secret_key" in asker.all_said
    assert "write" not in asker.moments[-1].values
    assert "change" in asker.moments[-1].values
    assert PASSWORD not in asker.all_said


def test_a_new_file_is_reviewed_by_its_keys_and_what_is_left_out_is_reported(
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
    message = f"  and {len(lines) - len(keys)} lines of comments and blanks, {len(left_out)} defaults: "
    assert folded == message + ", ".join(left_out)
    assert asker.moments[-1].title == f"~/.zeroclaw/config.toml: a new file of {len(lines)} lines. What now?"


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
