"""Where a text still lies once its memory is gone, and cleaning it there."""
