"""Quotas as a hand: ResourceQuotas raised while others leave theirs, ClusterQueues that follow bookings."""
