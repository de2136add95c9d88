"""The audit: findings with counts and bytes, and what can be done about each."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.events import Key

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import Command, bindings, say_why_dimmed
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.screens.audit_changing import AuditChanging
from zeroclaw_tui.tui.screens.audit_keys import AUDIT_COMMANDS
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.finding_list import FindingList
from zeroclaw_tui.tui.widgets.sample_list import SampleList

_ON_ROWS = frozenset({"purge", "recategorise", "merge", "mark", "mark_all", "unmark", "open", "copy_content"})


class AuditScreen(AuditChanging):
    """The audit: findings with counts and bytes, and what can be done about each. Gives True when the store changed."""

    CSS_PATH = "audit.tcss"
    COMMANDS_HERE = AUDIT_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = bindings(AUDIT_COMMANDS)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What writes is dimmed in a store that is only read; rows need to be there; duplicates alone merge."""
        if action in _ON_ROWS and (self.report is None or not self.report.findings):
            return False
        if action in self._writing and self._why_dimmed(action) is not None:
            return None
        return True

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        bound = self.active_bindings.get(event.key)
        because = self._why_dimmed(bound.binding.action) if bound is not None else None
        say_why_dimmed(self, event, self._writing, because)

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        return self._why_dimmed(command.action) if command.writes else None

    def action_purge(self) -> None:
        """Move the marked memories, else the row, to the trash."""
        self.write(self.purge)

    def action_recategorise(self) -> None:
        """Give the marked memories, else the row, another category."""
        self.write(self.recategorise)

    def action_merge(self) -> None:
        """Merge duplicates."""
        self.write(self.merge)

    def action_undo(self) -> None:
        """Take back the last change."""
        self.write(self.undo)

    def action_mark(self) -> None:
        """Mark the memory and go on to the next; on a finding mark all of it."""
        samples = self.query_one(SampleList)
        if self.query_one(FindingList).has_focus:
            self.action_mark_all()
        elif samples.selected is not None:
            self.marks.toggle(samples.selected.stamp)
            self.paint_marks()
            samples.cursor += 1

    def action_mark_all(self) -> None:
        """Mark all memories of the finding."""
        finding = self.query_one(SampleList).finding
        if finding is not None:
            self.marks.put(finding.stamps)
            self.paint_marks()

    def action_unmark(self) -> None:
        """Take every mark away."""
        self.marks.clear()
        self.paint_marks()

    def action_open(self) -> None:
        """From the finding to its memories, from there to the whole memory."""
        self.open_next()

    async def action_copy_content(self) -> None:
        """Copy the whole content, as it is."""
        sample = self.query_one(SampleList).selected
        if sample is None:
            return
        try:
            whole = await self.library.memory.whole(sample.stamp.handle)
        except InspectorError as error:
            self.say_failure(error)
            return
        self.tell(await copy_text(self.app, whole.content))

    def action_reload(self) -> None:
        """Audit again, unless something is being written."""
        if self.is_busy:
            self.warn("One moment: a change is still under way.")
        else:
            self.reload()

    def action_step_out(self) -> None:
        """Stop the audit; else one pane back; else back to the list."""
        if self.is_looking:
            self.stop_looking()
        elif self.query_one(MemoryDetail).has_focus:
            self.query_one(SampleList).focus()
        elif self.query_one(SampleList).has_focus and self.query_one(FindingList).row_count:
            self.query_one(FindingList).focus()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being written."""
        if not self.is_busy:
            self.stop_looking()
        super().action_leave()

    def _why_dimmed(self, action: str) -> str | None:
        if action not in self._writing:
            return None
        capabilities = self.library.memory.capabilities
        if self.library.read_only_because is not None:
            return self.library.read_only_because
        if action == "recategorise" and "category" not in capabilities.editable:
            return capabilities.why_not.get("category", "This store keeps no category that can be changed.")
        return None
