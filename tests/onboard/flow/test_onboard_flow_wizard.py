"""The whole wizard: choice of config dir, writing, final messages, and Ctrl-C at every question."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from onboard_flow_world import EACH_ONCE, FORMS, OLD, FakeProbes, bad, everything, ids, with_backend
from support.scripted_asker import ENTER, Moment, Reply, ScriptedAsker, answering
from support.wizard_world import BACKENDS, World

from zeroclaw_tui.onboard import wizard as wizard_module
from zeroclaw_tui.onboard.plan import Plan, apply_plan
from zeroclaw_tui.onboard.prompts import Move
from zeroclaw_tui.onboard.wizard import Request, WizardResult, run_wizard

MakeWorld = Callable[..., World]
NEXT = "What next?"


def eventful(backend: str) -> Callable[[Moment], Reply]:
    """Return answers that lead to every question, and to every menu once."""
    seen: set[str] = set()

    def script(moment: Moment) -> Reply:
        is_first = moment.name not in seen
        seen.add(moment.name)
        if moment.name == "bad test":
            return ENTER if is_first else "keep"
        if moment.name == "review":
            return Move.BACK if is_first else "write"
        if moment.question is None:
            return ENTER
        return everything(backend, moment)

    return script


@pytest.mark.parametrize(("form", "backend"), EACH_ONCE)
def test_ctrl_c_at_every_question_and_menu_changes_nothing(
    form: str, backend: str, make_world: MakeWorld, probes: FakeProbes
) -> None:
    """Common questions are interrupted with two backends only."""
    world = make_world(FORMS[form])
    before = world.files()
    number = list(FORMS).index(form) - len(FORMS) + 1
    while True:
        number += len(FORMS)
        probes.findings["sqlite"] = [bad("sqlite")]
        probes.findings[backend] = [bad(backend)]
        script = eventful(backend)
        count = 0

        def stopping(moment: Moment) -> Reply:
            nonlocal count
            count += 1
            return KeyboardInterrupt if count == number else script(moment)  # noqa: B023

        asker = ScriptedAsker(stopping)
        try:
            run_wizard(asker, Request(), world.environ)
            break
        except KeyboardInterrupt:
            pass
        if asker.moments[-1].name == "what next":
            assert "Saved ~/.zeroclaw/config.toml" in asker.said[-1]
            break
        assert world.files() == before, asker.moments[-1]
        assert "Nothing was changed." in asker.all_said
    assert number >= 6
    assert "review" in asker.names("menu")
    assert world.files() != before


@pytest.mark.parametrize("reply", ["inspect", "nothing", ENTER], ids=["inspector", "nothing", "enter"])
def test_the_inspector_opens_only_when_chosen(reply: Reply, make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(OLD)
    notes = world.config_dir / "workspace" / "MEMORY.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("- likes tea\n")
    asker = ScriptedAsker(answering({"what next": reply}, partial(with_backend, "markdown")))
    opened = world.config_dir if reply == "inspect" else None
    assert run_wizard(asker, Request(), world.environ) == WizardResult(opened)
    assert asker.moments[-1].title == NEXT


@pytest.mark.parametrize(
    ("version", "arguments", "first"),
    [
        ("0.1.7", ("onboard", "--interactive"), "default_temperature = 0.7"),
        ("0.7.5", ("onboard",), "schema_version = 2"),
        ("0.8.5", ("quickstart",), "schema_version = 3"),
    ],
)
def test_an_installed_zeroclaw_gets_its_own_schema_and_its_next_step_is_offered(
    version: str, arguments: tuple[str, ...], first: str, tmp_path: Path, make_world: MakeWorld
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "zeroclaw").write_text(f"#!/bin/sh\necho zeroclaw {version}\n")
    (programs / "zeroclaw").chmod(0o755)
    world = make_world(None, PATH=str(programs))
    asker = ScriptedAsker(answering({"what next": "real"}))
    assert run_wizard(asker, Request(), world.environ) == WizardResult(real=arguments)
    assert world.file.read_text().startswith(first)
    place = "data" if arguments == ("quickstart",) else "workspace"
    assert f"{world.config_dir / place}/memory/brain.db will be created" in asker.all_said
    assert asker.all_said.count("providers and channels") == 2, "before the questions, and after writing"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_basics_are_at_most_five_steps(backend: str, make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(None)
    asker = ScriptedAsker(partial(with_backend, backend), extent="basic")
    run_wizard(asker, Request(), world.environ)
    assert len(asker.names()) + 1 <= 5
    assert asker.names()[0] == "backend"
    assert asker.moments[-1].kind == "menu"
    assert f'backend = "{backend}' in world.file.read_text()


def test_a_dry_run_shows_the_review_and_writes_nothing(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(OLD)
    before = world.files()
    asker = ScriptedAsker(partial(with_backend, "markdown"))
    assert run_wizard(asker, Request(dry_run=True), world.environ) == WizardResult()
    assert '+ backend = "markdown"' in asker.all_said
    assert "Nothing was written" in asker.said[-1]
    assert world.files() == before


def test_two_possible_config_dirs_are_offered(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(OLD)
    second = world.home / "second"
    second.mkdir()
    (second / "config.toml").write_text(OLD)
    (world.config_dir / "active_workspace.toml").write_text(f'config_dir = "{second}"')
    asker = ScriptedAsker(answering({"places": "1"}, partial(with_backend, "none")))
    run_wizard(asker, Request(), world.environ)
    assert asker.names("menu")[0] == "places"
    places = asker.moments[0].titles
    changed = [path for path in (second / "config.toml", world.file) if path.read_text() != OLD]
    assert [str(path) for path in changed] == [places[1]]
    # Without an option a command would use the first config dir.
    (message,) = [line for line in asker.said if "--restore" in line]
    assert message.startswith(f"    zeroclaw onboard --config-dir {changed[0].parent} --restore 2")


def test_ctrl_c_during_saving_says_whether_the_file_was_saved(
    make_world: MakeWorld, probes: FakeProbes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(plan: Plan) -> str | None:
        apply_plan(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr(wizard_module, "apply_plan", interrupted)
    world = make_world(OLD)
    asker = ScriptedAsker(partial(with_backend, "markdown"))
    with pytest.raises(KeyboardInterrupt):
        run_wizard(asker, Request(), world.environ)
    assert "Saved ~/.zeroclaw/config.toml" in asker.said[-1]
    assert "Nothing was changed" not in asker.all_said


def test_questions_answered_by_flags_are_not_asked(make_world: MakeWorld, probes: FakeProbes) -> None:
    world = make_world(None)
    asker = ScriptedAsker()
    run_wizard(asker, Request(memory="markdown"), world.environ)
    assert "Memory     sqlite  default, then markdown from --memory" in asker.said
    assert "backend" not in [moment.question.setting.partition(".")[2] for moment in asker.moments if moment.question]
    assert 'backend = "markdown.default"' in world.file.read_text()
    assert len(asker.names()) == len(ids(world.answers(memory="markdown"))) - 1
