"""Writes golden/tiny.json: what the transformers library says of the tiny models.

Run it where the extra `lm` is installed, from the root: `python -m tests.models.make_golden`.
The open model has its own golden file beside its weights.
Tokens, log-probabilities, greedy continuations all come from that library alone.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.models import tiny

GOLDEN = Path(__file__).parent / "golden" / "tiny.json"
KINDS = ("F32", "F16", "BF16")
TEXTS = (
    "the king and the queen",
    "It's 12 o'clock in the tower.\n\n",
    "a café — ☃ or 😀?",
    " two  spaces",
    "x",
)
PROMPTS = ("the", "in the and", "It")


def main() -> None:
    import torch
    import transformers

    found: dict[str, Any] = {"transformers": transformers.__version__, "models": {}}
    with tempfile.TemporaryDirectory() as place:
        for name, shape in tiny.SHAPES.items():
            for kind in KINDS:
                folder = tiny.write_model(Path(place) / f"{name}-{kind}", shape, kind)
                model = transformers.AutoModelForCausalLM.from_pretrained(
                    folder, dtype=torch.float32
                )
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
                found["models"][f"{name}-{kind}"] = {
                    "texts": [_scored(model, tokenizer, text) for text in TEXTS],
                    "prompts": [_written(model, tokenizer, text) for text in PROMPTS],
                }
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def _scored(model: Any, tokenizer: Any, text: str) -> dict[str, Any]:
    import torch

    ids = tokenizer(text)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([[tokenizer.bos_token_id, *ids[:-1]]])).logits[0]
    logs = torch.log_softmax(logits.double(), -1)
    expected = (logs.exp() * logs).sum(-1)
    spread = (logs.exp() * (logs - expected[:, None]) ** 2).sum(-1).sqrt()
    return {
        "text": text,
        "tokens": ids,
        "logprobs": [round(float(row[token]), 6) for row, token in zip(logs, ids)],
        "expected": [round(float(one), 6) for one in expected],
        "spread": [round(float(one), 6) for one in spread],
        "greedy": [int(row.argmax()) == token for row, token in zip(logs, ids)],
    }


def _written(model: Any, tokenizer: Any, text: str) -> dict[str, Any]:
    import torch

    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.no_grad():
        found = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=12,
            do_sample=False,
            pad_token_id=0,
        )
    new = found[0, ids.shape[1] :].tolist()
    return {"text": text, "written": tokenizer.decode(new, skip_special_tokens=True)}


if __name__ == "__main__":
    main()
