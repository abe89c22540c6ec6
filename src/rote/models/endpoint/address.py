"""`URL#MODEL`, or a model of OpenAI itself: where requests go, for whom, and with which key."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from rote.core.errors import OptionError
from rote.core.http import Client, Pace

OPENAI = "https://api.openai.com/v1"


def address(name: str) -> tuple[str, str]:
    """The endpoint and the model, from what stands behind `openai:` in the name of a model."""
    url, sharp, model = name.rpartition("#")
    if not sharp:
        if "://" in name:
            raise OptionError(f"which model of {name}? Write it as openai:{name}#MODEL")
        url, model = OPENAI, name
    if not model:
        raise OptionError("which model? openai:URL#MODEL, or openai:MODEL for one of OpenAI")
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.query:
        # What stands in an address ends up in signatures and results.
        raise OptionError(
            "an address must hold no password, key or query: name the environment variable that "
            "holds the key with --key-variable"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", model


def client(url: str, key_variable: str, rate: float = 0.0) -> Client:
    """Who asks the endpoint; the key, if there is one, goes nowhere that it should not."""
    made, key = Client(url, Pace(rate)), os.environ.get(key_variable) or None
    if key is None and url == OPENAI:
        raise OptionError(
            f"{OPENAI} wants a key, and the environment variable {key_variable} is not set"
        )
    if key is not None and not made.secure and not made.local:
        raise OptionError(
            f"the key in {key_variable} would travel unencrypted to {made.host}: "
            "use https, or name a variable that is not set with --key-variable"
        )
    made.key = key
    return made
