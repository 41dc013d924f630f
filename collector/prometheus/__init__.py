"""History from a Prometheus that is already there: what GPUs did and who held them, before anybody collected."""
