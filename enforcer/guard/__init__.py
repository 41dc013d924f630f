"""The guard: the one gate between a plan and an act."""
