"""Finance's files: lines of cost as FOCUS, general-ledger entries, plain Parquet and metrics."""
