"""The rooms of the inspector: whole screens, each with one thing to do in it."""
