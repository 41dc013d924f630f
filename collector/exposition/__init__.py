"""The text that exporters serve: the grammar of Prometheus' and OpenMetrics' text formats, and a fast way through pages that repeat."""
