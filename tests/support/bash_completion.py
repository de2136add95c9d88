"""What bash offers after some words, by the completion script of a program."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path


def completed(script: Path, *words: str) -> set[str]:
    """The words offered in place of the last one."""
    function = f"_shtab_{words[0].replace('-', '_')}"
    asked = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; "
        f'{function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    answer = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    return set(answer.stdout.splitlines())
