"""The steps of an explanation, in words."""
