"""The local embedding model of Perdure, as data: its 8-bit weights, its tokenizer, and the SHA-256 of both."""
