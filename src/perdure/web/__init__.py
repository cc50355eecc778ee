"""The page in a browser: what is remembered, to see, correct and take back. Screens are made of the verbs of `Memory`,
on the server, as HTML that needs no script; what may be done is a table of actions over the table of operations.
"""
