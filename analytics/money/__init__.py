"""Money: prices, the lines that they make of usage, and statements whose cents add up."""
