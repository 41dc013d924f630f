"""The loop: a live cluster and a ledger in, plans made, judged, carried out and recorded; again on every event."""
