"""Kubernetes as a source: who holds what, who waits, what there is, what is promised."""
