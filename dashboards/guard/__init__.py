"""The guard in front of the pages: every request passes it, and nothing is answered to who is not let in."""
