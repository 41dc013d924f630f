"""The hand that acts: off until asked. It will stand here, above what it may know and below what may show it; nothing acts yet."""
