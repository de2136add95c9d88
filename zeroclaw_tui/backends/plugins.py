"""Backends of other packages. Only their names are looked up until a config asks for one of them.

A backend of your own is a class of Memory in a package of your own:

1. Write the seven abstract verbs. Every command and screen works with these alone, if each memory has an `id` of its
   own. `in_memory.py` is a sample that does more.
2. Name the class in that package's pyproject.toml; the entry point's name is what `memory.backend` says:
   `[project.entry-points."zeroclaw_tui.backends"]`, `shoe-box = "shoe_box:ShoeBox"`.
3. Read the settings in `from_config`: `config.location` is the value of --location, `config.storage` the table
   `[storage.shoe-box]` of config.toml, secrets in plain text. Set `about = About(location=…)` and raise the kinds in
   memory/errors.py, without passwords.
4. Give the class a `why_not` with a sentence for each thing that it cannot do (`THE_TRAIT` is that of the seven verbs).
   Override what it can do faster or more exactly.
5. Subclass MemoryContract and StoreContract of zeroclaw_tui.testing in your tests, and GoneContract for a server; give
   them `async def new_memory(self, folder)`, which returns an empty store, and run plain `pytest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zeroclaw_tui.memory.errors import InspectorError, Refused
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.memory_config import MemoryConfig

GROUP = "zeroclaw_tui.backends"


class Plugin(NamedTuple):
    """One backend of another package."""

    name: str
    package: str
    """The name and version of the package."""
    entry_point: EntryPoint

    def create(self, config: MemoryConfig) -> Memory:
        """Create the store of a config without opening it. Raises Refused if the plug-in is broken."""
        backend = self._load()
        try:
            memory = backend.from_config(config)
            # A plug-in need not write more than the verbs of ZeroClaw's trait.
            memory.name = memory.name or self.name
            location = memory.about.location or mask_secrets(config.location or f"package {self.package}")
            memory.about = memory.about._replace(location=location)
        except InspectorError:
            raise
        except Exception as error:
            raise self._broken(f"cannot be made: {_describe(error)}") from error
        return memory

    def _load(self) -> type[Memory]:
        from zeroclaw_tui.backends.base import Memory

        try:
            found = self.entry_point.load()
        except (Exception, SystemExit) as error:
            # A module of another package may raise anything while it is imported.
            raise self._broken(f"cannot be imported: {_describe(error)}") from error
        if not (isinstance(found, type) and issubclass(found, Memory) and not found.__abstractmethods__):
            value = one_line(self.entry_point.value)
            raise self._broken(f"names {value}, which is no class with the seven verbs of Memory")
        return found

    def _broken(self, problem: str) -> Refused:
        return Refused(
            f"The backend {self.name!r} of the package {self.package} {problem}.",
            hint="Update or uninstall that package, or open another store: --backend NAME with --location PATH.",
            title="Plug-in not usable",
        )


def installed_plugins() -> list[Plugin]:
    """List the backends that installed packages offer, by name."""
    from importlib.metadata import entry_points

    found = [
        Plugin(one_line(point.name).strip().lower(), _package(point), point) for point in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda plugin: (plugin.name, plugin.package))


def _package(point: EntryPoint) -> str:
    distribution = point.dist
    return "of no name" if distribution is None else one_line(f"{distribution.name} {distribution.version}")


def _describe(error: BaseException) -> str:
    """Give an error in one line, without secrets and without its traceback."""
    message = one_line(mask_secrets(str(error)))
    return f"{type(error).__name__}: {message}".removesuffix(".") if message else type(error).__name__
