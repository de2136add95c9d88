"""Where a text lies besides the store: the table of places, looking there, cleaning, erasing."""
