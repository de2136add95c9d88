"""The inspector: a screen for each room, and the widgets that they are made of; only this package imports textual.

app.py opens a store and shows the first room. commands.py has the base of all rooms and their commands, rooms/ the
rooms, widgets/ the list, the detail and the lines around them. What is shown and written comes from curation/.
"""
