"""The text that exporters serve: Prometheus' and OpenMetrics' formats, and a fast way through their pages."""
