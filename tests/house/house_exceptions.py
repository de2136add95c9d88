"""What the house still has to mend; nothing may be added to it."""

from __future__ import annotations

ONE_CHILD: set[str] = set()
"""Classes that only one child makes whole."""
HANDED_ON = {"ReaderRoom.why_dimmed", "Target.close"}
"""Methods of the name of the one they call: what they close, look into or press a key of is nobody else's."""
NO_BACKENDS = {
    # A kind of place, what distinguishes old agents, and who makes vectors.
    "place.kind",
    "profile.agent_scope",
    "provider",
}
"""What is compared with a word that is a backend's name too, and is none there."""
