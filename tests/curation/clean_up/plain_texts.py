"""Texts that have nothing to do with each other, for rows in which nothing else shall be found."""

from __future__ import annotations

PLAIN = (
    "Anna planted three apple trees behind the old barn",
    "The ferry to the island leaves at half past seven",
    "Please remember that Oskar cannot stand loud music",
    "Our second printer jams whenever the paper is damp",
    "Every Thursday the market sells fresh goat cheese",
    "Miriam wants to learn the cello before next winter",
    "A spare bicycle pump hangs next to the garage door",
    "Grandfather tells the story of the frozen lake again",
    "Windows on the north side need a new coat of paint",
    "Someone left a green umbrella in the meeting room",
    "Two litres of oil go into the engine after a change",
    "Leo prefers maps over written directions when hiking",
    "This recipe calls for saffron and far too much butter",
    "Nobody answers the phone between noon and one o'clock",
)
