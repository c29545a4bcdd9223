"""What came out: lookups, outcomes, tokens and tables over the store."""
