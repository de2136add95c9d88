"""What is answered, and by whom: a person, flags, the environment, a file, the config, or nobody."""
