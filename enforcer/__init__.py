"""The hand that acts: off until asked. It stands above what it may know and below what may show it."""
