"""The hand that acts: off until asked. Its place in the house; nothing acts yet."""
