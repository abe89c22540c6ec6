"""The chat form of an instruct model: its template, a Jinja text that writes a conversation.

Templates come with the weights, from anybody, so they run in Jinja's sandbox: they see the
messages and the special tokens, change neither, and reach no attribute that begins with an
underscore. What they write equals `apply_chat_template` of transformers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.core.errors import InputError, OptionError
from rote.core.json_reader import CollectorPaused, JsonObject, read_json
from rote.core.model import Message

if TYPE_CHECKING:
    from jinja2 import Template

_LONGEST = 1 << 20
"""Characters of a template at most; real ones have some thousand."""
_LARGEST = 1 << 26
"""Characters, items or bits that a product in a template may have."""
_FILE = "chat_template.jinja"


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A template and the special tokens that it may name (`bos_token`, `eos_token`, ...)."""

    source: str
    tokens: tuple[tuple[str, str], ...] = ()

    @property
    def signature(self) -> str:
        """What the form depends on besides the messages; the day, where the template writes it."""
        digest = blake2b(json.dumps([self.source, self.tokens]).encode(), digest_size=4)
        day = f"-{_today():%Y-%m-%d}" if "strftime_now" in self.source else ""
        return f"template-{digest.hexdigest()}{day}"

    def render(self, messages: Sequence[Message]) -> str:
        """The text that the model reads, up to where its answer begins.

        >>> template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}"
        ...     "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
        >>> template.render([Message("user", "Hi")])
        '<user>Hi<assistant>'
        """
        from jinja2 import TemplateError

        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            with CollectorPaused():
                nothing = {"tools": None, "documents": None, "add_generation_prompt": True}
                return _compile(self.source).render(messages=turns, **nothing, **dict(self.tokens))
        except TemplateRefusal as error:
            raise OptionError(
                f"the model's chat template rejects these messages: {error}. Change them (it may "
                "not accept a system text), or send plain text with --no-chat"
            ) from None
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"the model's chat template cannot be used: {type(error).__name__}: {error}",
                remedy="Send plain text with --no-chat",
            ) from None
        except RecursionError:
            raise InputError(
                "the model's chat template recurses endlessly",
                remedy="Send plain text with --no-chat",
            ) from None


class TemplateRefusal(Exception):
    """What a template raises by `raise_exception`."""


def render(template: ChatTemplate | None, messages: Sequence[Message]) -> str:
    if template is None:
        raise OptionError("the model has no chat template: leave out --chat and --system")
    return template.render(messages)


def chat_template(source: Any, tokens: Mapping[str, Any], file: str) -> ChatTemplate | None:
    """The template of a model's settings: a text, or several with names, of which `default`."""
    if isinstance(source, list):  # as tokenizer_config.json wrote several
        entries = [entry for entry in source if isinstance(entry, dict)]
        source = {entry.get("name"): entry.get("template") for entry in entries}
    if isinstance(source, dict):
        source = source.get("default")
    if source is None:
        return None
    if not isinstance(source, str) or len(source) > _LONGEST:
        raise InputError(
            f"its chat template is not a text of at most {_LONGEST:,} characters",
            file=file,
            remedy="Use the template from the model's own page",
        )
    texts = {
        name: str(token.get("content", "")) if isinstance(token, dict) else str(token)
        for name, token in tokens.items()
        if name.endswith("_token") and isinstance(token, (str, dict))
    }
    return ChatTemplate(source, tuple(sorted(texts.items())))


def folder_template(folder: Path) -> ChatTemplate | None:
    """The template of a model's folder: chat_template.jinja, else that of tokenizer_config.json."""
    settings = folder / "tokenizer_config.json"
    config: Mapping[str, Any] = {}
    if settings.is_file():
        config = JsonObject.of(read_json(settings), str(settings)).values
    source: Any = config.get("chat_template")
    if (folder / _FILE).is_file():
        source = (folder / _FILE).read_text("utf-8", "replace")
    return chat_template(source, config, str(folder))


def gguf_template(fields: Mapping[str, Any], file: str) -> ChatTemplate | None:
    names = fields.get("tokenizer.ggml.tokens") or []
    tokens = {}
    # The last is llama.cpp's spelling.
    for field in ("bos", "eos", "unknown", "padding", "seperator"):
        number = fields.get(f"tokenizer.ggml.{field}_token_id")
        if type(number) is int and 0 <= number < len(names):
            tokens[f"{field[:3]}_token"] = names[number]
    return chat_template(fields.get("tokenizer.chat_template"), tokens, file)


def _today() -> datetime:
    """The day, which some templates write; SOURCE_DATE_EPOCH holds it still."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    if fixed.isdigit():
        return datetime.fromtimestamp(int(fixed), timezone.utc)
    return datetime.now()


@lru_cache(maxsize=16)
def _compile(source: str) -> Template:
    """The template, compiled with the functions that transformers gives it."""
    from jinja2 import nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """Products and powers of a size that no conversation needs are refused."""

        intercepted_binops = frozenset(("*", "**"))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            numbers = [isinstance(side, (int, float)) for side in (left, right)]
            sizes = [abs(x) if n else len(x) for x, n in zip((left, right), numbers)]
            if operator == "**" and sizes[0] > 1:
                sizes[0] = int(sizes[0]).bit_length()
            if (operator == "**" or not all(numbers)) and sizes[0] * sizes[1] > _LARGEST:
                raise OverflowError(f"{operator} of {_LARGEST:,} or more")
            return super().call_binop(context, operator, left, right)

    class Generation(Extension):
        """`{% generation %}` marks what an assistant wrote, for training: it changes no text."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))

    def to_json(
        value: Any,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        # Not Jinja's own filter, which escapes for HTML.
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )

    def refuse(message: str) -> str:
        raise TemplateRefusal(message)

    environment = Sandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: _today().strftime(form)
    return environment.from_string(source)
