"""What a request reaches of its app, made once by `make_app`."""

from __future__ import annotations

from typing import Protocol, cast

from fastapi import Request

from rote.web.indexes import Indexes, OpenIndex, Recent
from rote.web.jobs.pool import Pool
from rote.web.jobs.queue import Jobs
from rote.web.store.history import History
from rote.web.workspace import Workspace


class State(Protocol):
    """The attributes of `app.state`."""

    workspace: Workspace
    history: History
    jobs: Jobs
    indexes: Indexes
    recent: Recent
    pool: Pool


def state(request: Request) -> State:
    return cast(State, request.app.state)


def index_of(request: Request, key: str) -> OpenIndex:
    """The index that was opened under this key, as it is now."""
    return state(request).indexes.current(state(request).workspace.index(key))
