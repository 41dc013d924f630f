"""The ledger in, facts and money out: usage, lending, findings, charges and reports."""
