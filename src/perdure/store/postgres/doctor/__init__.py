"""Doctor of a store in PostgreSQL: what is wrong with it, and how it is mended."""
