"""Which `zeroclaw onboard` is answered here, and which is handed to the real zeroclaw."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Command

SYSTEM = f"{Path(sys.executable).parent}:/usr/bin:/bin"


@pytest.fixture
def fake(tmp_path: Path) -> str:
    """A PATH whose first `zeroclaw` prints its arguments, one a line, and exits with 7."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "zeroclaw"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo zeroclaw 0.7.5; exit 0; }\nprintf "<%s>\\n" "$@"\nexit 7\n'
    )
    program.chmod(0o755)
    return f"{folder}:{SYSTEM}"


FOREIGN = [
    ("onboard", "--api-key", "sk-1", "--provider", "openrouter", "--memory", "sqlite"),
    ("onboard", "--channels-only"),
    ("onboard", "--reinit"),
    ("onboard", "--force", "--interactive"),
    ("onboard", "memory"),
    ("onboard", "channels", "--dry-run"),
    ("onboard", "--model=x", "--json"),
    ("onboard", "--memory", "--api-key", "sk-1"),
    ("onboard", "--help", "--force"),
    ("onboard", "--"),
    ("onboard", "--restore", "latest", "extra"),
    ("--config-dir", "/tmp/x y", "onboard", "--channels-only"),
    ("--backend", "sqlite", "onboard"),
    ("--real", "onboard", "--dry-run", "--json"),
    ("onboard", "--api-key", "", "--provider="),
    ("onboard", "--", "--memory", "sqlite"),
    ("--json", "--yes", "onboard", "--force", "a b", "*", "ü\\n", "$HOME", "'"),
    ("--real", "", "--", "onboard", ""),
]


@pytest.mark.parametrize("arguments", FOREIGN, ids=" ".join)
def test_an_argument_that_is_not_ours_takes_the_whole_command_along(
    run: Command, fake: str, arguments: tuple[str, ...]
) -> None:
    answer = run(*arguments, PATH=fake)
    passed = arguments[1:] if arguments[0] == "--real" else arguments
    assert answer.out == "".join(f"<{argument}>\n" for argument in passed)
    assert (answer.code, answer.err) == (7, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--dry-run",),
        ("--memory", "markdown", "--dry-run", "--yes"),
        ("--memory=markdown", "--set=memory.auto_save=false", "--dry-run"),
    ],
    ids=" ".join,
)
def test_our_own_options_are_answered_here(
    run: Command, fake: str, config_dir: Path, arguments: tuple[str, ...]
) -> None:
    for command in (
        ("onboard", "--config-dir", str(config_dir), *arguments),
        ("onboard", f"--config-dir={config_dir}", *arguments),
        ("--config-dir", str(config_dir), "onboard", *arguments),
    ):
        answer = run(*command, PATH=fake)
        assert answer.code == 0, answer.err
        assert "backend" in answer.out
        assert "<onboard>" not in answer.out
        assert not config_dir.exists()


@pytest.mark.parametrize(
    ("arguments", "named", "meant"),
    [
        (("--dry-runn",), "--dry-runn", "--dry-run"),
        (("--restor", "x"), "--restor", "--restore"),
    ],
)
def test_a_misspelt_option_is_handed_to_nobody(
    run: Command, fake: str, arguments: tuple[str, ...], named: str, meant: str
) -> None:
    """The real one would begin to write: what was meant is asked first."""
    answer = run("onboard", *arguments, PATH=fake)
    assert (answer.code, answer.out) == (2, "")
    assert f"Unknown argument {named}." in answer.err
    assert f"Did you mean {meant}?" in answer.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--channels-only",), "--channels-only"),
        (("--api-key", "sk-abcdefghijklmnop-sekret"), "--api-key"),
        (("channels",), "channels"),
    ],
)
def test_without_a_real_one_the_argument_is_named(run: Command, arguments: tuple[str, ...], named: str) -> None:
    answer = run("onboard", *arguments)
    assert (answer.code, answer.out) == (127, "")
    assert f"Unknown argument {named}." in answer.err
    assert "real zeroclaw" in answer.err
    assert "Did you mean" not in answer.err
    assert "`zeroclaw onboard --help`" in answer.err


def test_help_is_ours_and_names_every_option(run: Command, fake: str) -> None:
    for flag in ("--help", "-h"):
        shown = run("onboard", flag, PATH=fake)
        assert shown.code == 0
        for option in (
            "--interactive", "--memory", "--set", "--defaults", "--answers", "--no-test", "--dry-run", "--restore",
            "--json", "--yes", "--config-dir", "--workspace", "the real zeroclaw",
        ):  # fmt: skip
            assert option in " ".join(shown.out.split())


def test_bash_completes_it(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "completion"
    file.write_text(run("--print-completion", "bash").out)
    assert {"memory", "onboard"} <= completed(file, "zeroclaw", "")
    assert {"--defaults", "--dry-run"} <= completed(file, "zeroclaw", "onboard", "--d")
    assert {"sqlite", "postgres", "lucid", "markdown", "qdrant", "none"} <= completed(
        file, "zeroclaw", "onboard", "--memory", ""
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--restore", "latest", "--memory", "sqlite"), "--memory"),
        (("--restore", "--set", "a=b"), "--set"),
        (("--interactive", "--json"), "--json"),
        (("--memory",), "--memory"),
        (("--dry-run=yes",), "--dry-run"),
    ],
)
def test_options_that_contradict_each_other(
    run: Command, config_file: Path, arguments: tuple[str, ...], named: str
) -> None:
    answer = run("onboard", "--config-dir", str(config_file.parent), *arguments)
    assert (answer.code, answer.message) == (2, "")
    assert named in answer.err


def completed(script: Path, *words: str) -> set[str]:
    """The words offered in place of the last one."""
    function = f"_shtab_{words[0].replace('-', '_')}"
    asked = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; "
        f'{function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    answer = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    return set(answer.stdout.splitlines())
