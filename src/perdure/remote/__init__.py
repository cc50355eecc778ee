"""A memory that another machine keeps: `Memory("https://…")` has the verbs of a local file, over `/v1` of a server."""
