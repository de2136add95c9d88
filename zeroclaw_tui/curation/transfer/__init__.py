"""Import memories from files, and copy them between stores."""
