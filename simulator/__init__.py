"""A GPU cluster in a process, deterministic by seed: for the demo, the tests, the benchmarks and what-if."""
