"""The ledger: opening it, writing it, looking after it, and the SQL that gives its rows their meaning."""
