"""The text that exporters serve: Prometheus' and OpenMetrics' text formats, and a fast way through their pages."""
