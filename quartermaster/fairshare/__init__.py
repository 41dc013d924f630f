"""Fair share: what each team is entitled to in a pool now, in whole numbers, and why."""
