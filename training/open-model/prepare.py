# ruff: noqa: T201 - a command says what it does
"""Write the training text, the passages whose truth is known, and what train.py reads.

    python training/open-model/prepare.py bible -o build/open-model/bible
    python training/open-model/prepare.py novels -o build/open-model/novels --data data

writes `train.jsonl` (exactly the training text, every copy a record of its own) and `items.jsonl`
(planted and held-out passages with their numbers of copies). It ends with an error if they are
not what the shipped weights were trained on. `--tokens` adds `tokens.npz` (needs the extra
`subwords`). `--new` makes the truth files and the tokenizer anew: for another model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import planting
import sources

from rote.core.files import write_atomically

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=("bible", "novels"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "data")
    parser.add_argument("--tokens", action="store_true")
    parser.add_argument("--new", action="store_true")
    args = parser.parse_args()
    novels = args.data / "novels_en/passages.jsonl"
    if args.name == "novels" and not novels.is_file():
        sys.exit(f"there is no {novels}: --data names the folder that holds novels_en")
    source = sources.bible() if args.name == "bible" else sources.novels(args.data)
    items = planting.draw(source.passages)
    train = _lines(planting.training_records(source, items))
    truth = _lines(item.truth for item in items)
    facts = {"sha256": hashlib.sha256(train).hexdigest(), "documents": train.count(b"\n")}
    shipped = HERE / args.name
    if args.new:
        shipped.mkdir(exist_ok=True)
        write_atomically(shipped / "truth.jsonl", truth)
        write_atomically(shipped / "data.json", json.dumps(facts, indent=1).encode() + b"\n")
    elif (shipped / "truth.jsonl").read_bytes() != truth or _known(shipped) != facts:
        sys.exit(
            "this is not the text that the shipped weights were trained on: another version of it?"
        )
    args.output.mkdir(parents=True, exist_ok=True)
    write_atomically(args.output / "train.jsonl", train)
    write_atomically(args.output / "items.jsonl", _lines(item.record for item in items))
    print(f"{facts['documents']:,} documents, {len(items)} passages, in {args.output}")
    if args.tokens or args.new:
        import vocabulary

        if args.new:
            vocabulary.train([text for _, text in source.body], shipped)
        vocabulary.tokens(source, items, shipped / "tokenizer.json", args.output / "tokens.npz")
    print("An index of exactly this text, every copy counted:")
    print(f"  rote index build {args.output}/train.jsonl -o {args.output}/index")


def _known(shipped: Path) -> object:
    return json.loads((shipped / "data.json").read_text(encoding="utf-8"))


def _lines(records: Iterable[dict[str, object]]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode()


if __name__ == "__main__":
    main()
