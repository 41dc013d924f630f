"""What the pages show of the fleet, its queue, its lending, its data and its enforcer: values, charts, HTML."""
