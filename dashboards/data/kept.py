"""For how long figures are kept before they are read anew."""

KEPT_S = 60
