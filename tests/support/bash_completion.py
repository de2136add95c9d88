"""What bash offers after some words, by the completion script of `zeroclaw`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path


def completed(script: Path, *words: str, **variables: str) -> set[str]:
    """The words offered in place of the last one, which is the part behind its last colon or equals sign."""
    program = shlex.quote(str(Path(sys.executable).with_name(words[0])))
    line = " ".join([words[0], *map(shlex.quote, words[1:-1]), words[-1]])
    part = words[-1].replace("=", ":").rpartition(":")[2]
    asked = (
        f"source {script}; COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; "
        f'_{words[0].replace("-", "_")}_words {program} {shlex.quote(part)}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    environment = {**os.environ, **variables}
    answer = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, env=environment, check=True)
    return set(answer.stdout.splitlines())
