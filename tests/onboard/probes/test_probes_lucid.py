"""The probe of the `lucid` program, with small scripts in its place."""

from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path

import pytest
from probing import make_answers, probed

from zeroclaw_tui.onboard.probes import Finding, run_probe

CONFIG = '[memory]\nbackend = "lucid"\nauto_save = true\n'
MODERN = 'schema_version = 3\n[memory]\nbackend = "lucid.default"\nauto_save = true\n'


def script(folder: Path, body: str, name: str = "lucid", first: str = "#!/bin/sh\n") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(first + body)
    path.chmod(0o755)
    return path


def look(folder: Path, body: str, seconds: float = 8.0) -> Finding:
    path = script(folder / "bin", body).parent
    environ = {"PATH": f"{path}:/usr/bin:/bin"}
    return probed("lucid", make_answers(folder / "config", CONFIG, environ), seconds)


def until_ended(number: int) -> None:
    try:
        process = os.pidfd_open(number)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([process], [], [], 10)
    os.close(process)
    assert ended, "a process is still running"


def test_a_lucid_that_answers_is_good(tmp_path: Path) -> None:
    found = look(tmp_path, 'test "$*" = version && printf "\\n  lucid-memory 0.6.5 \\nmore\\n"')
    assert found.verdict == "good"
    assert found.sentence == "lucid answers: lucid-memory 0.6.5"


def test_lucids_output_is_cleaned_for_the_terminal_and_cut(tmp_path: Path) -> None:
    found = look(tmp_path, "printf '\\033[31m\\377%0300d' 1")
    assert found.verdict == "good"
    assert len(found.sentence) < 120


def test_a_lucid_missing_from_path_is_bad(tmp_path: Path) -> None:
    found = probed("lucid", make_answers(tmp_path / "config", CONFIG))
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence == "lucid was not found, or cannot be run by this user."
    assert "ZEROCLAW_LUCID_CMD" in found.hint
    assert (found.remedy, found.wrong) == ("Install Lucid", ())


def test_a_failing_lucid_is_bad(tmp_path: Path) -> None:
    found = look(tmp_path, "echo oops >&2; exit 3")
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence.endswith("lucid ended with exit code 3: oops.")


def test_a_command_of_the_environment_is_used_up_to_0_7_5(tmp_path: Path) -> None:
    path = script(tmp_path / "bin", "echo mine", name="my-lucid")
    answers = make_answers(tmp_path / "config", CONFIG, {"ZEROCLAW_LUCID_CMD": str(path), "PATH": "/bin"})
    assert probed("lucid", answers).sentence.endswith(": mine")


def test_a_path_of_the_config_is_used_from_0_8_4_on(tmp_path: Path) -> None:
    path = script(tmp_path / "bin", "echo mine", name="my-lucid")
    config = f'{MODERN}[storage.lucid.default]\nbinary_path = "{path}"\n'
    answers = make_answers(tmp_path / "config", config, {"PATH": "/bin"})
    assert probed("lucid", answers).sentence.endswith(": mine")


@pytest.mark.parametrize("name", ["missing", "plain"])
def test_a_path_that_cannot_be_run_is_bad(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain").write_text("text")
    config = f'{MODERN}[storage.lucid.default]\nbinary_path = "{tmp_path / name}"\n'
    found = probed("lucid", make_answers(tmp_path / "config", config))
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.wrong == ("storage.lucid.binary_path",)
    assert "storage.lucid.binary_path" in found.hint


async def test_cancelling_at_any_moment_leaves_no_child(tmp_path: Path) -> None:
    children = tmp_path / "children"
    path = script(tmp_path / "bin", f"sleep 1000 & echo $! >> {children}; wait").parent
    answers = await asyncio.to_thread(make_answers, tmp_path / "config", CONFIG, {"PATH": f"{path}:/usr/bin:/bin"})
    for milliseconds in range(25):
        task = asyncio.create_task(run_probe("lucid", answers, seconds=60))
        await asyncio.wait([task], timeout=milliseconds / 1000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    started = (await asyncio.to_thread(children.read_text)).split()
    assert started
    for number in started:
        until_ended(int(number))
