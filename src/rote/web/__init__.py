"""The same functions in the browser: a local app whose pages are made on the server.

`app.make_app(Workspace(...))` is the whole app, callable without a server; `serving` starts it. A
file in `routes/` is a page with its JSON API; `forms/` is what can be asked, `jobs/` does what
takes long, `store/` keeps what came out, `pages/` is what they look like.
"""
