"""Benchmarks: each module measures one goal as a ratio to a peer or a bound, in one run."""
