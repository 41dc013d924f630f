"""Reports sent: what is due, to whom, as what, and what came of it."""
