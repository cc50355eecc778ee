"""The Model Context Protocol: the tools that a model is given, and the server that a host starts, `perdure mcp`.

`tools.py` is the table of tools; `protocol.py` answers messages, whatever carried them; `stdio.py` carries them over
standard input and output. Nothing of the engine is imported before the first message is answered.
"""
