"""Texts outside the store: the table of places, searching them, cleaning and erasing."""
