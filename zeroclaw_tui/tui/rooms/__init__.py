"""The rooms of the inspector: each one thing a person does, on a screen of its own."""
