"""What the house still has to mend; nothing may be added to it."""

from __future__ import annotations

ONE_CHILD: set[str] = set()
"""Classes that only one child makes whole."""
HANDED_ON = {"LoadedRows.get", "Target.close", "UpkeepRoom.action_reload"}
"""Methods of the name of the one they call: what they close, look into or press a key of is nobody else's."""
NO_BACKENDS = {
    # A place where copies lie, a format of files, what old agents were told apart by, Textual's animations, and who
    # makes vectors.
    *("place.kind", "self._format"),
    *("profile.agent_scope", "before.agent_scope", "self.app.animation_level"),
    *("provider", "after.get('memory.embedding_provider')"),
}
"""What is compared with a word that is a backend's name too, and is none there."""
