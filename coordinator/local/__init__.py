"""Everything on one machine: embedded Postgres and Redis, supervised workers."""
