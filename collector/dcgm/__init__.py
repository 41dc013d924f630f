"""dcgm-exporter: its pages fetched, parsed and understood."""
