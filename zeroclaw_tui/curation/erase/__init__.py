"""A text gone from every place of an install, and the proof of it."""
