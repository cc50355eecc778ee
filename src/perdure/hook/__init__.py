"""`perdure hook`: the one program that coding agents run at the events of a session."""
