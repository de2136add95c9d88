"""Floor 4: the inspector; the only place that imports textual."""
