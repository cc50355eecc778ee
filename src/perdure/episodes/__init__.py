"""Conversations: their messages, and what is made of them."""
