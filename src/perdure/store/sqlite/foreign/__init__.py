"""Databases of other memory tools, which are read and never changed."""
