"""Models behind an endpoint that answers messages: prompts go to `URL/chat/completions`.

`openai-chat:URL#MODEL`, or `openai-chat:MODEL` for OpenAI itself. Such an endpoint writes texts
and scores none.
"""

from __future__ import annotations

from rote.core.model import Model
from rote.core.progress import Reporter
from rote.models.backends import openai
from rote.models.options import ModelOptions


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`openai-chat:URL#MODEL` or `openai-chat:MODEL`"""
    return openai.open_model(name, options, reporter, chat=True)
