"""Embedders: the port every one of them keeps, and the adapters behind it."""
