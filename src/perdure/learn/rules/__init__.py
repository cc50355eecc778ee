"""What is read in a message by rules alone, for each language by its own."""
