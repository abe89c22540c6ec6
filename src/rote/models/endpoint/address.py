"""`URL#MODEL`, or a model of OpenAI itself: where requests go, and for whom."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from rote.core.errors import OptionError

OPENAI = "https://api.openai.com/v1"
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """One model of one endpoint. `path` is what stands before `/completions`."""

    url: str
    secure: bool
    host: str
    port: int
    path: str
    model: str

    @property
    def local(self) -> bool:
        return self.host in _LOCAL


def address(name: str) -> Address:
    """From what stands behind `openai:` in the name of a model."""
    url, sharp, model = name.rpartition("#")
    if not sharp:
        if "://" in name:
            raise OptionError(f"which model of {name}? Write it as openai:{name}#MODEL")
        url, model = OPENAI, name
    if not model:
        raise OptionError("which model? openai:URL#MODEL, or openai:MODEL for one of OpenAI")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError(
            f"'{url}' is no address of an endpoint: http://localhost:8000/v1 would be one"
        )
    if parts.username is not None or parts.password is not None or parts.query:
        # What stands in an address ends up in signatures and results.
        raise OptionError(
            "an address must hold no password, key or query: name the environment variable that "
            "holds the key with --key-variable"
        )
    secure = parts.scheme == "https"
    try:
        port = parts.port or (443 if secure else 80)
    except ValueError:
        raise OptionError(f"'{url}' has no valid port") from None
    path = parts.path.rstrip("/")
    return Address(f"{parts.scheme}://{parts.netloc}{path}", secure, parts.hostname, port, path,
                   model)  # fmt: skip
