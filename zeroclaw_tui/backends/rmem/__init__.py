"""R-Mem's store: another program's memory, browsed and recalled as that program does it."""
