"""The parts of making vectors anew: pace, price, and asking for many at once."""
