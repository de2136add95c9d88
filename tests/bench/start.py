"""What starting costs, in starts of the bare interpreter: run `python tests/bench/start.py`.

Each command is a process of its own, on an install with four memories; all are run in turns, so that a busy machine
is busy for all of them. `--help` and what is handed on have at most 4 to cost, `memory list` at most 9.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import zeroclaw_tui

SCRIPT = str(Path(sys.executable).with_name("zeroclaw"))
COMMANDS: dict[str, tuple[Sequence[str], float]] = {
    "python -c pass": ((sys.executable, "-c", "pass"), 1),
    "zeroclaw --help": ((SCRIPT, "--help"), 4),
    "zeroclaw memory --help": ((SCRIPT, "memory", "--help"), 4),
    "zeroclaw handed on": ((SCRIPT, "agent"), 4),
    "zeroclaw memory list": ((SCRIPT, "memory", "list"), 9),
    "zeroclaw memory get": ((SCRIPT, "memory", "get", "k1"), 9),
    "zeroclaw memory recall": ((SCRIPT, "memory", "recall", "rust"), 0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    # As an installer leaves it: nothing is compiled while it is measured.
    compileall.compile_dir(Path(zeroclaw_tui.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        environment = _environment(Path(folder))
        taken = _measured(environment, rounds)
    wall, cpu = (
        {name: statistics.median(each[at] for each in times) for name, times in taken.items()} for at in (0, 1)
    )
    bare = next(iter(COMMANDS))
    print(f"{'':26} {'ms':>6} {'ms CPU':>7} {'ratio':>6} {'CPU':>6} {'bar':>4}")
    for name, (_, bar) in COMMANDS.items():
        ratios = f"{wall[name] / wall[bare]:6.1f} {cpu[name] / cpu[bare]:6.1f}"
        print(f"{name:26} {wall[name]:6.0f} {cpu[name]:7.0f} {ratios} {bar or '':>4}")


def _environment(folder: Path) -> dict[str, str]:
    """The variables of an install with four memories, and of a `zeroclaw` that is handed commands."""
    real = folder / "bin" / "zeroclaw"
    real.parent.mkdir()
    real.write_text("#!/bin/true\n")
    real.chmod(0o755)
    config_dir = folder / "zc"
    config_dir.mkdir()
    (config_dir / "config.toml").write_text(
        'default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\n'
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"ZEROCLAW_CONFIG_DIR": str(config_dir), "PATH": "/usr/bin:/bin"}
    for number in range(4):
        text = f"Note {number} about rust"
        subprocess.run(
            [SCRIPT, "memory", "store", f"k{number}", text], env=environment, check=True, capture_output=True
        )
    return environment | {"PATH": f"{real.parent}:/usr/bin:/bin"}


def _measured(environment: dict[str, str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds on the clock and of the processor, of each command in each round; the first round is not counted."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for at in range(rounds + 1):
        for name, (command, _) in COMMANDS.items():
            here = environment if command[1:] == ("agent",) else environment | {"PATH": "/usr/bin:/bin"}
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, env=here, check=True, capture_output=True, stdin=subprocess.DEVNULL)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if at:
                taken[name].append((wall * 1000, cpu * 1000))
    return taken


if __name__ == "__main__":
    main()
