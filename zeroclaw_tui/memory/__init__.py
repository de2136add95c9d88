"""Floor 0: the words everything else speaks. Standard library only, no input or output, no clock."""
