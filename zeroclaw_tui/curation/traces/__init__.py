"""Where a text is besides the store: the table of places, looking there, cleaning, erasing."""
