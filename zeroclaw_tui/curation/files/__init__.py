"""Files beside the store: kept whole before they are moved, removed or written, and put back."""
