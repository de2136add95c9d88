"""Backends that other packages bring, through the entry-point group `zeroclaw_tui.backends`.

An entry point's name is the backend's, its value "module:Class" with a class of Memory in it. Only the names are looked
up until one of them is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.profiles import BackendProfile, backend_profile
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.errors import InspectorError, Refused
from zeroclaw_tui.memory.text import mask_secrets, one_line

GROUP = "zeroclaw_tui.backends"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One backend of another package. `origin` is that package and its version."""

    name: str
    value: str
    origin: str
    entry_point: EntryPoint

    @property
    def profile(self) -> BackendProfile:
        """Its label and the defaults of a backend of which nothing is known."""
        return BackendProfile(self.name, f"{self.name}: from the package {self.origin}", False, in_zeroclaw=False)

    def made(self, config: MemoryConfig) -> Memory:
        """Its store, not yet opened. Raises Refused in one sentence for whatever is wrong with it."""
        backend = self._loaded()
        try:
            memory = backend.from_config(config)
        except InspectorError:
            raise
        except Exception as error:
            raise self._refused(f"cannot be made: {_told(error)}") from error
        if not isinstance(memory, Memory):
            raise self._refused(f"gives {type(memory).__name__} in place of a Memory")
        # The verbs of ZeroClaw's trait are all that has to be written; how it is called is known here.
        for name, value in (
            ("name", self.name),
            ("location", mask_secrets(config.location or f"package {self.origin}")),
        ):
            if not getattr(memory, name, None):
                setattr(memory, name, value)
        return memory

    def _loaded(self) -> type[Memory]:
        try:
            found = self.entry_point.load()
        except (Exception, SystemExit) as error:
            # A module of somebody else's may raise anything while it is imported.
            raise self._refused(f"cannot be imported: {_told(error)}") from error
        if not (isinstance(found, type) and issubclass(found, Memory)):
            raise self._refused(f"names {self.value}, which is no class of zeroclaw_tui.backends.base.Memory")
        missing = sorted(found.__abstractmethods__)
        if missing:
            raise self._refused(f"lacks {', '.join(missing)}")
        return found

    def _refused(self, what: str) -> Refused:
        return Refused(
            f"The backend {self.name!r} of the package {self.origin} {what}.",
            hint="Update or uninstall that package, or open another store: --backend NAME with --location PATH.",
            title="Plug-in not usable",
        )


def plugins() -> tuple[Plugin, ...]:
    """Every backend that a package installed here offers and no backend of ours has the name of, by name."""
    return tuple(plugin for plugin in _offered() if backend_profile(plugin.name) is None)


def plugin_names() -> tuple[str, ...]:
    """Their names, each once."""
    return tuple(dict.fromkeys(plugin.name for plugin in plugins()))


def plugin_of(name: str) -> Plugin | None:
    """The plug-in of that name. Raises Refused where several packages offer one."""
    wanted = name.strip().lower()
    found = [plugin for plugin in plugins() if plugin.name == wanted]
    if len(found) > 1:
        raise Refused(
            f"Several packages offer a backend {wanted!r}: {', '.join(plugin.origin for plugin in found)}.",
            hint="Uninstall all but one of them.",
        )
    return found[0] if found else None


def shadowed_sentences() -> tuple[str, ...]:
    """A sentence for each plug-in that has the name of a backend of ours, which is used in its place."""
    return tuple(
        f"The package {plugin.origin} offers a backend {plugin.name!r}; this program's own of that name is used."
        for plugin in _offered()
        if backend_profile(plugin.name) is not None
    )


def _offered() -> list[Plugin]:
    found = [
        Plugin(one_line(point.name).strip().lower(), one_line(point.value), _origin(point), point)
        for point in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda plugin: (plugin.name, plugin.origin))


def _origin(point: EntryPoint) -> str:
    distribution = point.dist
    return "of no name" if distribution is None else one_line(f"{distribution.name} {distribution.version}")


def _told(error: BaseException) -> str:
    """An error in one line, without secrets and without its traceback."""
    words = one_line(mask_secrets(str(error)))
    return f"{type(error).__name__}: {words}".removesuffix(".") if words else type(error).__name__
