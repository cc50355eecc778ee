"""What the sessions of a coding agent need: what they are told at their start, and what is kept of them."""
