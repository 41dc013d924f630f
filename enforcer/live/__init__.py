"""The live cluster: watched, and understood as a snapshot."""
