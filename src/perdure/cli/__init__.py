"""The command line: parse, call the façade, render. `perdure.cli.app` is the way in."""
