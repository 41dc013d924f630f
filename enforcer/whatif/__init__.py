"""What-if: the ledger's own past played again under another policy, and what would have become of it."""
