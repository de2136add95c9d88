"""How to install the library that a backend needs to reach its server."""

from __future__ import annotations

import shlex
import sys


def install_command(extra: str) -> str:
    """Give the command that installs what an extra of this package names, into this environment.

    It names the libraries, so that it works whether this program was installed from a folder, a wheel or an index.
    """
    # Imported here, because nearly every command starts without it; it takes 10 ms.
    from importlib.metadata import requires
    from importlib.util import find_spec

    marker = f"extra == '{extra}'"
    required = (line.replace('"', "'").partition(";") for line in requires("zeroclaw_tui") or ())
    libraries = shlex.join(library.strip() for library, _, condition in required if marker in condition)
    python = shlex.quote(sys.executable)
    # `uv tool` makes environments without pip.
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {libraries}"
    return f"{python} -m pip install {libraries}"
