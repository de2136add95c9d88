"""Answers given on the command line: `--memory BACKEND` and `--set key=value`."""

from __future__ import annotations

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.setting_names import alias_in, parsed_value, setting_name
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.given import Given

_EXAMPLE = "Write it like --set memory.vector_weight=0.7."


def flag_answers(memory: str | None, assignments: tuple[str, ...]) -> tuple[dict[str, Given], dict[str, str]]:
    """The answers by setting, and the alias that a spelling such as `storage.postgres.work.db_url` names, by kind.

    Raises WrongUse for a text without `=`, a setting nobody knows, a value that does not fit, or two that differ.
    """
    answers: dict[str, Given] = {}
    aliases: dict[str, str] = {}
    if memory is not None:
        _add(answers, "memory.backend", Given(parsed_value("memory.backend", memory), "flag", "--memory"))
    for assignment in assignments:
        written, equals, text = assignment.partition("=")
        if not equals:
            raise WrongUse(f'--set needs key=value, and "{shown(assignment)}" has no "=".', hint=_EXAMPLE)
        name = setting_name(written)
        _add(answers, name, Given(parsed_value(name, text), "flag", "--set"))
        alias = alias_in(written)
        kind = name.split(".")[1]
        if alias is not None and aliases.setdefault(kind, alias) != alias:
            raise WrongUse(
                f"--set names two tables of storage.{kind}, {shown(aliases[kind])} and {shown(alias)}.",
                hint="Set one of them at a time.",
            )
    return answers, aliases


def _add(answers: dict[str, Given], name: str, answer: Given) -> None:
    before = answers.setdefault(name, answer)
    if before.value != answer.value:
        raise WrongUse(f"{name} is given twice, with different values.", hint="Leave one of them out.")
