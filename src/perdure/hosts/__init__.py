"""Coding agents and editors: how Perdure gets into their configuration, out of it again, and whether it works there."""
