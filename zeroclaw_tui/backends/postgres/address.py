"""A database URL: hosts, user, database and how to encrypt, and what is wrong with one, without ever showing it."""
