"""How fast Perdure is, beside others that do the same work in the same run. `python -m bench --help` says how."""
