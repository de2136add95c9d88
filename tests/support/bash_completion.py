"""What bash offers after some words, by the completion script of `zeroclaw`."""

from __future__ import annotations

import subprocess
from pathlib import Path


def completed(script: Path, *words: str) -> set[str]:
    """The words offered in place of the last one."""
    line = " ".join(f"'{word}'" for word in words)
    asked = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '_shtab_zeroclaw zeroclaw "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return set(subprocess.run(["bash", "-c", asked], capture_output=True, text=True).stdout.split())
