"""The same functions in the browser: a local app whose pages are made on the server.

`app.make_app(Workspace(...))` is the whole app, callable without a server; `server` starts it. A
file in `routes/` is a page with its JSON API; `forms` is what can be asked, `job_queue` and
`job_worker` do what takes long, `history` and `files` store, `pages/` is what it looks like.
"""
