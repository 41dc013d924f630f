"""The ground floor: the design's words as pure values and functions, without a database, a network or a clock."""
