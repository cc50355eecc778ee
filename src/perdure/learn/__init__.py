"""What is learned from what was said: pure decisions, which write nothing themselves."""
