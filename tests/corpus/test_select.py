from __future__ import annotations

import pytest

import rote
from rote.core.errors import InputError, OptionError
from rote.corpus import ReadOptions, open_corpus

from .files import jsonl_bytes

RECORDS = [
    {"id": "a", "doc_id": 1, "text": "A cat sat.", "source": "human", "year": 1900, "t": 1.0},
    {"id": "b", "doc_id": 2, "text": "A dog sat.", "source": "model", "year": "1950", "ok": True},
    {"id": "c", "doc_id": 3, "text": "A cow sat.", "source": "a|b, c=d", "year": "unknown"},
]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("source=human", "a"),
        ("source = human|model", "ab"),
        ("source!=human|model", "c"),
        ("year>=1900", "ab"),
        ("year>1900", "b"),
        ("year<1950", "a"),
        ("year<=1950", "ab"),
        ("year=unknown", "c"),
        ("t=1", "a"),
        ("t=", "bc"),
        ("ok=true", "b"),
        ("id=b|c", "bc"),
        (("year>1800", "source!=human"), "b"),
    ],
)
def test_records_are_taken_by_their_fields(where, ids, write):
    path = write("a.jsonl", jsonl_bytes(RECORDS))
    asked = (where,) if isinstance(where, str) else where
    corpus = open_corpus(path, ReadOptions(where=asked))
    assert "".join(one.id for one in corpus) == ids
    assert "".join(one.id for one in open_corpus(RECORDS, ReadOptions(where=asked))) == ids


def test_a_condition_from_python_may_hold_a_comma():
    found = rote.lexical(RECORDS, where="source=x, y|human", matched=False)
    assert [one.texts for one in found.by_source.values()] == [1]
    found = rote.lexical(RECORDS, where=("year>1000", "year<1940"), matched=False)
    assert [one.texts for one in found.by_source.values()] == [1]


@pytest.mark.parametrize("where", ["source", "=human", "year<old", ""])
def test_what_is_no_condition_is_refused(where):
    with pytest.raises(OptionError, match="--where"):
        ReadOptions(where=(where,))


def test_a_condition_that_no_record_fulfils_names_the_fields(write):
    path = write("a.jsonl", jsonl_bytes(RECORDS))
    with pytest.raises(
        InputError, match=r"sorce=human: no record has 'sorce', only id, .*source"
    ) as found:
        open_corpus(path, ReadOptions(where=("sorce=human",)))
    assert found.value.file == str(path)


def test_where_nothing_is_left_the_values_of_the_field_are_listed(write):
    path = write("a.jsonl", jsonl_bytes(RECORDS))
    with pytest.raises(InputError, match=r"source=nobody: source is a\|b, c=d, human, model"):
        open_corpus(path, ReadOptions(where=("source=nobody",)))
    many = [{"id": str(n), "text": "a b", "n": n} for n in range(40)]
    with pytest.raises(InputError, match=r"n is 0, 1, 10, .* and 28 more"):
        open_corpus(write("b.jsonl", jsonl_bytes(many)), ReadOptions(where=("n>50",)))


def test_a_comma_separates_values_and_may_be_in_one(write):
    parties = ["A", "B", "C", "D, E"]
    rows = [{"id": str(n), "text": "a b", "party": party} for n, party in enumerate(parties)]
    path = write("a.jsonl", jsonl_bytes(rows))

    def taken(where: str) -> list[str]:
        return [one.meta["party"] for one in open_corpus(path, ReadOptions(where=(where,)))]

    assert taken("party=A,B") == taken("party=A, B") == taken("party=A|B") == ["A", "B"]
    assert taken("party!=A,B") == ["C", "D, E"]
    assert taken("party=D, E") == ["D, E"]


def test_other_files_are_joined_by_a_field(write):
    path = write("a.jsonl", jsonl_bytes(RECORDS))
    more = [{"doc_id": n, "reference": f"r{n}", "source": "other"} for n in (3, 2, 1)]
    other = write("b.jsonl", jsonl_bytes(more))
    scores = write("c.csv", b"doc_id,score\n1,5\n2,6\n3,7\n")
    asked = ReadOptions(join=(str(other),), where=("reference!=r2",))
    found = list(open_corpus(path, asked))
    assert [(one.id, one.meta["reference"]) for one in found] == [("a", "r1"), ("c", "r3")]
    assert [one.meta["source"] for one in found] == ["human", "a|b, c=d"]  # its own stays
    [one] = open_corpus(path, ReadOptions(join=(str(scores),), where=("score>6",)))
    assert (one.id, one.meta["score"]) == ("c", "7")
    write("b.jsonl", jsonl_bytes([{**each, "reference": "new"} for each in more]))
    assert {
        one.meta["reference"] for one in open_corpus(path, ReadOptions(join=(str(other),)))
    } == {"new"}


def test_what_cannot_be_joined_is_said_with_its_place(write):
    path = write("a.jsonl", jsonl_bytes(RECORDS))
    other = write("b.jsonl", jsonl_bytes([{"doc_id": 1}, {"doc_id": 2}]))
    with pytest.raises(InputError, match="has doc_id '3'") as found:
        list(open_corpus(path, ReadOptions(join=(str(other),))))
    assert (found.value.file, found.value.line, found.value.field) == (str(path), 3, "doc_id")
    skipping = open_corpus(path, ReadOptions(join=(str(other),), on_error="skip"))
    assert [one.id for one in skipping] == ["a", "b"]
    assert len(skipping.problems) == 1
    twice = write("c.jsonl", jsonl_bytes([{"doc_id": 1}, {"doc_id": 1}]))
    for name, problem, line in ((twice, "second record", 2), (path, "missing", 1)):
        asked = ReadOptions(join=(str(name),), join_on="doc_id" if name is twice else "nix")
        with pytest.raises(InputError, match=problem) as found:
            open_corpus(path, asked)
        assert (found.value.file, found.value.line) == (str(name), line)
    with pytest.raises(InputError, match="no such file"):
        open_corpus(path, ReadOptions(join=("gone.jsonl",)))
    null = write("d.jsonl", jsonl_bytes([{"doc_id": None}]))
    with pytest.raises(InputError, match="the field is null"):
        open_corpus(path, ReadOptions(join=(str(null),)))
    with pytest.raises(InputError, match="the field is null, by which"):
        list(
            open_corpus(
                write("e.jsonl", b'{"text": "x", "doc_id": null}'), ReadOptions(join=(str(other),))
            )
        )


def test_records_and_frames_are_joined_like_files(write):
    import polars

    path = write("a.jsonl", jsonl_bytes(RECORDS))
    more = [{"doc_id": n, "reference": f"r{n}"} for n in (1, 2, 3)]
    other = write("b.jsonl", jsonl_bytes(more))
    first = list(open_corpus(path, ReadOptions(join=(str(other),))))
    for given in (more, polars.DataFrame(more), str(other), other):
        assert list(open_corpus(path, ReadOptions(join=given))) == first
    with pytest.raises(InputError, match="join takes files, records or a frame, not int"):
        open_corpus(path, ReadOptions(join=(1, 2)))


def test_a_joined_file_is_read_as_the_others(write):
    path = write("a.jsonl", '{"doc_id": "é", "text": "one"}\n'.encode("latin-1"))
    other = write("b.csv", "doc_id,reference\né,zwölf\n".encode("latin-1"))
    (one,) = open_corpus(path, ReadOptions(join=(str(other),), encoding="latin-1"))
    assert one.meta["reference"] == "zwölf"
