"""The roof: one command, one module a sub-command. Imports everything, is imported by nothing."""
