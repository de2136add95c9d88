"""Floor 3: what any backend must hold to, for this program's tests and for those of plug-in authors."""
