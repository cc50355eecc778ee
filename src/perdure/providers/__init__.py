"""How models on servers are reached. Nothing else in Perdure opens a connection."""
