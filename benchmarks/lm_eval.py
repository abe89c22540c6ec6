"""Log-likelihoods and answers of rote beside those of lm-evaluation-harness, same model and items.

    python benchmarks/lm_eval.py [DATA] [--model FOLDER] [--items N]

DATA is a folder with blimp/pairs.jsonl, copa_balanced/items.jsonl, piqa/valid.jsonl,
winogrande/valid.jsonl and lambada/test.jsonl (default: ../shared/data). Without a model, two
tiny ones are made, one like GPT-2, one like Llama whose tokenizer writes a start token; for a
moment they learn some of LAMBADA's passages, so that some last words come out right.
Needs lm-eval, torch and transformers; nothing is downloaded: the harness gets its own task
files with the items of DATA in the place of its data sets.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rote
from rote.core.progress import Silent
from rote.corpus.items import ItemRecord, read_records
from rote.models.options import ModelOptions, open_model

DEFAULT = Path("../shared/data")
FILES = {
    "blimp": "blimp/pairs.jsonl",
    "copa": "copa_balanced/items.jsonl",
    "piqa": "piqa/valid.jsonl",
    "winogrande": "winogrande/valid.jsonl",
    "lambada": "lambada/test.jsonl",
}
TASKS = {"blimp": "blimp_adjunct_island", "lambada": "lambada_openai"}
"""Where the harness has another name; all paradigms of BLiMP are asked by the same template."""
SPLITS = {"blimp": "train", "lambada": "test"}
ITEMS = 300
VOCABULARY = 2000
LEARNED, STEPS = 12, 400
Fields = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--model", type=Path, help="folder of a model that transformers opens")
    parser.add_argument("--items", type=int, default=ITEMS, help="items of each task; 0: all")
    options = parser.parse_args()
    # This file is called like the package that it runs, which is imported below.
    here = Path(__file__).parent.resolve()
    sys.path = [place for place in sys.path if Path(place).resolve() != here]
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    logging.disable(logging.WARNING)
    records = {task: _spread(options.data / file, options.items) for task, file in FILES.items()}
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        os.environ["ROTE_CACHE"] = f"{work}/cache"  # answers kept from elsewhere prove nothing
        folders = [options.model] if options.model else _made(records, Path(work))
        for folder in folders:
            print(f"\n{folder.name}", flush=True)
            print(
                f"{'task':<12}{'items':>7}{'largest difference':>20}{'acc':>9}{'harness':>9}"
                f"{'acc_norm':>10}{'harness':>9}{'differ':>8}"
            )
            for task, own in records.items():
                wrong += _compared(task, own, folder, Path(work))
    sys.exit(1 if wrong else 0)


def _spread(path: Path, count: int) -> list[ItemRecord]:
    """So many items, evenly over the file: BLiMP is in the order of its paradigms."""
    found = list(read_records([path]))
    return found[:: max(1, len(found) // count)][:count] if count else found


def _compared(task: str, records: Sequence[ItemRecord], folder: Path, work: Path) -> int:
    """One line; how many items the two answer differently."""
    model = open_model(
        f"transformers:{folder}", ModelOptions(device="cpu", dtype="float32"), Silent()
    )
    ours = rote.evaluate(records, model={"model": model}).records
    theirs = _harness(task, records, folder, work)
    largest = max(
        abs(a - b)
        for one, other in zip(ours, theirs, strict=True)
        for a, b in zip(one["loglikelihoods"], _scores(other), strict=True)
    )
    metrics = [name for name in ("acc", "acc_norm") if name in theirs[0]]
    differ = sum(
        any(one[name] != other[name] for name in metrics)
        or one["greedy"] != [str(greedy) == "True" for _, greedy in other["filtered_resps"]]
        for one, other in zip(ours, theirs)
    )
    shown = []
    for name in ("acc", "acc_norm"):
        for rows in (ours, theirs):
            known = name in metrics
            shown.append(f"{sum(r[name] for r in rows) / len(rows):.4f}" if known else "–")
    print(
        f"{task:<12}{len(ours):>7}{largest:>20.2e}{shown[0]:>9}{shown[1]:>9}{shown[2]:>10}"
        f"{shown[3]:>9}{differ:>8}",
        flush=True,
    )
    if task == "lambada":
        both = [
            math.exp(-sum(scores) / len(scores))
            for scores in (
                [row["loglikelihoods"][0] for row in ours],
                [_scores(row)[0] for row in theirs],
            )
        ]
        print(f"{'':<12}perplexity {both[0]:.6g}, harness {both[1]:.6g}")
    return differ


def _scores(sample: Fields) -> list[float]:
    return [float(score) for score, _ in sample["filtered_resps"]]


def _harness(
    task: str, records: Sequence[ItemRecord], folder: Path, work: Path
) -> list[dict[str, Any]]:
    """The samples that lm-evaluation-harness logs for these items, in their order."""
    from lm_eval import evaluator
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager
    from lm_eval.tasks._yaml_loader import load_yaml

    docs = work / f"{task}.jsonl"
    docs.write_text("".join(json.dumps(DOCS[task](record.fields)) + "\n" for record in records))
    name = TASKS.get(task, task)
    config = load_yaml(TaskManager().task_index[name].yaml_path)
    split = SPLITS.get(task, "validation")
    if task not in SPLITS:
        config.pop("training_split", None)
    config.pop("tag", None)
    config |= {
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": {split: str(docs)}, "cache_dir": str(work / "datasets")},
    }
    model = HFLM(pretrained=str(folder), device="cpu", dtype="float32", batch_size=8)
    found = evaluator.evaluate(
        lm=model, task_dict={name: ConfigurableTask(config=config)}, bootstrap_iters=0
    )
    return sorted(found["samples"][name], key=lambda sample: sample["doc_id"])


def _copa(fields: Fields) -> dict[str, Any]:
    return {
        **{name: fields[name] for name in ("premise", "choice1", "choice2")},
        "question": fields["asks_for"],
        "label": int(fields["answer"]) - 1,
    }


def _winogrande(fields: Fields) -> dict[str, Any]:
    texts = {name: fields[name] for name in ("sentence", "option1", "option2")}
    return {**texts, "answer": str(fields["answer"])}


DOCS: dict[str, Callable[[Fields], dict[str, Any]]] = {
    "blimp": lambda fields: {n: fields[n] for n in ("sentence_good", "sentence_bad")},
    "copa": _copa,
    "piqa": lambda fields: {n: fields[n] for n in ("goal", "sol1", "sol2", "label")},
    "winogrande": _winogrande,
    "lambada": lambda fields: {"text": f"{fields['context']} {fields['target']}"},
}


def _made(records: Mapping[str, Sequence[ItemRecord]], work: Path) -> list[Path]:
    """Two tiny models, with a tokenizer that was trained on the items."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    texts = [text for own in records.values() for one in own for text in one.item.instances()]
    end = "<|endoftext|>"
    folders = []
    for name in ("tiny-gpt2", "tiny-llama"):
        torch.manual_seed(1)
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.train_from_iterator(
            texts,
            trainers.BpeTrainer(
                vocab_size=VOCABULARY,
                special_tokens=[end],
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
        if name == "tiny-llama":  # its tokenizer puts the start token before every text
            tokenizer.post_processor = processors.TemplateProcessing(
                single=f"{end} $A", special_tokens=[(end, 0)]
            )
        size = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": 0}
        if name == "tiny-gpt2":
            model: Any = GPT2LMHeadModel(
                GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=1024, **size)
            )
        else:
            model = LlamaForCausalLM(
                LlamaConfig(
                    hidden_size=64,
                    intermediate_size=128,
                    num_hidden_layers=2,
                    num_attention_heads=4,
                    num_key_value_heads=2,
                    max_position_embeddings=1024,
                    **size,
                )
            )
        _learn(model, [tokenizer.encode(one.item.instances()[0]).ids for one in records["lambada"]])
        folder = work / name
        model.save_pretrained(folder)
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            bos_token=end,
            eos_token=end,
            clean_up_tokenization_spaces=False,
        ).save_pretrained(folder)
        folders.append(folder)
    return folders


def _learn(model: Any, texts: Sequence[Sequence[int]]) -> None:
    """The first few passages by heart, the others not at all."""
    import torch

    steps = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(STEPS):
        some = torch.tensor([texts[step % LEARNED]])
        loss = model(input_ids=some, labels=some).loss
        steps.zero_grad()
        loss.backward()
        steps.step()


if __name__ == "__main__":
    main()
