"""The rooms of the inspector, each a screen for one task."""
