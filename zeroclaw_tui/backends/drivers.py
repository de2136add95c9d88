"""The libraries that only some backends need, and the command that brings one, right for how this program came here."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "zeroclaw_tui"
_OF_EXTRA = re.compile(r"""^([^;]+?)\s*;\s*extra\s*==\s*['"]([^'"]+)['"]$""")


def command_for(extra: str, prefix: str = sys.prefix) -> str:
    """The command that installs what an extra of this package names, into the environment at `prefix`.

    The libraries are named themselves, so that it works whether this program was installed from a folder, a wheel or
    an index. pipx keeps `pipx_metadata.json` in each environment, `uv tool` keeps `uv-receipt.toml`.
    """
    libraries = " ".join(map(shlex.quote, _libraries(extra)))
    environment = Path(prefix)
    if (environment / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(environment.name)} {libraries}"
    python = shlex.quote(str(environment / "bin" / "python"))
    if (environment / "uv-receipt.toml").is_file() or find_spec("pip") is None:
        return f"uv pip install --python {python} {libraries}"
    return f"{python} -m pip install {libraries}"


def _libraries(extra: str) -> list[str]:
    """What the extra asks for, as it is written in the package's metadata."""
    try:
        required = distribution(_PACKAGE).requires or []
    except PackageNotFoundError:
        required = []
    matched = (_OF_EXTRA.match(line.strip()) for line in required)
    return [found.group(1) for found in matched if found and found.group(2) == extra] or [extra]
