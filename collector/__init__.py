"""Telemetry in: a source per system, attribution, and the collecting loop."""
