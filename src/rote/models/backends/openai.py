"""Models behind an endpoint that speaks the API of OpenAI: vLLM, llama.cpp, Ollama, OpenAI.

`openai:URL#MODEL` asks `URL/completions`, and `openai:MODEL` OpenAI itself. Texts are scored by
having them echoed with log-probabilities, where the endpoint does that; `openai-chat:` sends
prompts as messages to `URL/chat/completions` and generates only.
"""

from __future__ import annotations

from rote.core.model import Model
from rote.core.progress import Reporter
from rote.models.endpoint.model import OPENAI, Endpoint, check_price, open_client, parse_address
from rote.models.options import ModelOptions


def open_model(
    name: str, options: ModelOptions, reporter: Reporter, *, chat: bool = False
) -> Model:
    """`openai:URL#MODEL` or `openai:MODEL`"""
    url, model = parse_address(name)
    asking = open_client(url, options.key_variable, options.rate)
    if asking.key and url != OPENAI and not asking.local:
        reporter.say(f"the key in {options.key_variable} is sent to {asking.host}")
    return Endpoint(
        asking,
        model,
        options.key_variable,
        reporter,
        chat=chat,
        batch=options.batch,
        price=check_price(options.price),
        yes=options.yes,
    )
