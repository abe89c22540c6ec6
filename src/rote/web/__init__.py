"""The same functions in the browser: a local app whose pages are made on the server.

`app.make_app(Opened(...))` is the whole app, callable without a server; `serving` starts it. A file
in `routes/` is a page with its JSON API, `pages/` holds what they look like.
"""
