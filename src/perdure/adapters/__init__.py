"""Adapters: a Perdure memory where a framework asks for a memory of its own. Each module imports its framework; the
extra of the same name says from which version on. docs/adapters has a page for each.
"""
