"""The configuration: one file, read strictly, with every error at once and secrets only by reference."""
