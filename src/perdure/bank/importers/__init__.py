"""What people have in other products, read from the files that those export or keep: a module for each product."""
