"""The inspector: a screen for each room, and their widgets; only this package imports textual.

app.py opens a store and shows the first room. commands.py has the base class of all rooms and their commands, rooms/
the rooms, widgets/ the list, the detail and the lines around them. All data and all writes go through curation/.
"""
