"""The ladder: people are told before anything of theirs is taken, and how to keep it."""
