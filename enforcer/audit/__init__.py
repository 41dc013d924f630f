"""The audit: what was meant, what came of it, chained by hash."""
