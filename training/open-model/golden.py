# ruff: noqa: T201 - a command says what it does
"""Write what transformers says about a few texts, for tests where torch is not installed.

    python training/open-model/golden.py training/open-model/bible   # needs the extra lm

Log-probabilities in float32 on the CPU, each token given the start token, the context and the
tokens before it, and what greedy decoding writes after the first text's words.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

# Written for this; the second is far from anything the model has read, the fifth holds bytes that
# are no letters, the last has a single token.
TEXTS = (
    ("And the king said", " unto his servants, Go ye up to the city."),
    ("", "The train to Bristol leaves at 10:45; we can't wait."),
    ("In those days there was", " no bread in all the land, and the people wept."),
    ("Then answered he and said unto them,", " Behold,  two  spaces,\nand a new line."),
    ("", "Café, naïve, 東京 - and “quotes”: \tpriests' & king's 'tis."),
    ("And it came to", " pass"),
)
_WRITTEN = 24


def main(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    rows = []
    for context, text in TEXTS:
        before = tokenizer.encode(context, add_special_tokens=False)
        ids = tokenizer.encode(context + text, add_special_tokens=False)
        assert ids[: len(before)] == before, "a token runs from the context into the text"
        with torch.no_grad():
            logits = model(torch.tensor([[tokenizer.bos_token_id, *ids]])).logits[0]
            said = logits.log_softmax(-1)[:-1].gather(1, torch.tensor(ids)[:, None])[:, 0]
        rows.append(
            {
                "context": context,
                "text": text,
                "tokens": ids[len(before) :],
                "logprobs": [float(one) for one in said[len(before) :]],
            }
        )
    context = TEXTS[0][0]
    start = torch.tensor(
        [[tokenizer.bos_token_id, *tokenizer.encode(context, add_special_tokens=False)]]
    )
    written = model.generate(start, max_new_tokens=_WRITTEN, do_sample=False)[0, start.shape[1] :]
    golden = {
        "made_with": f"transformers {transformers.__version__}, torch {torch.__version__}, float32",
        "texts": rows,
        "greedy": {"prompt": context, "max_tokens": _WRITTEN, "text": tokenizer.decode(written)},
    }
    target = folder / "golden.json"
    target.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(rows)} texts in {target}; after {context!r}: {golden['greedy']['text']!r}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
