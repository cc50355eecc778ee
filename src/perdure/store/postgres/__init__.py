"""The store in a PostgreSQL database, for a fleet of processes."""
