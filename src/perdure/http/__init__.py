"""The server `perdure serve`: the façade over HTTP. A route parses, is authorised, calls one verb in a worker thread
and shows the answer as the command line's JSON does.

`app.py` puts it together; `guard.py` stands before every request, `routing.py` before every route.
"""
