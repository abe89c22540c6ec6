"""CoNLL-U files: documents, spans, trees, and what can be wrong with them."""

from __future__ import annotations

import gzip

import pytest
import zstandard

from rote.corpus import ReadOptions, open_corpus

from .files import complaint, skipped

TWO_DOCUMENTS = """\
# newdoc id = lake
# sent_id = lake-1
# text = They don't swim.
1\tThey\tthey\tPRON\tPRP\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tswim\tswim\tVERB\tVB\t_\t0\troot\t0:root\tSpaceAfter=No
4.1\tswim\tswim\tVERB\tVB\t_\t_\t_\t0:root\tCopyOf=4
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# newpar
# sent_id = lake-2
1\tCold\tcold\tADJ\tJJ\t_\t0\troot\t_\tSpaceAfter=No
2\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_

# sent_id = lake-3
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

# newdoc
# sent_id = wind-1
# text = Il parle du vent
1\tIl\til\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tparle\tparler\tVERB\t_\t_\t0\troot\t_\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\t_\t_\t5\tcase\t_\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t_\t_
5\tvent\tvent\tNOUN\t_\t_\t2\tobl\t_\t_
"""
SENTENCE = "1\tOne\tone\tNUM\tCD\t_\t2\tnummod\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n"


def test_documents_are_those_of_newdoc_with_text_and_spans(write):
    first, second = open_corpus(write("a.conllu", TWO_DOCUMENTS))
    assert first.id == "lake"
    assert first.text == "They don't swim.\n\nCold! Yes"
    held = first.meta["annotation"]
    pieces = [first.text[a:b] for a, b in zip(held["starts"], held["ends"])]
    assert pieces == held["form"] == ["They", "do", "n't", "swim", ".", "Cold", "!", "Yes"]
    assert held["lemma"][2] == "not"
    assert held["xpos"][:4] == ["PRP", "VBP", "RB", "VB"]
    assert held["head"] == [3, 3, 3, -1, 3, -1, 5, -1]
    assert held["deprel"][3] == "root"
    assert held["sentence_ends"] == [5, 7, 8]
    assert second.id == "a:20"
    assert second.text == "Il parle du vent"


def test_words_that_do_not_spell_their_token_share_its_span(write):
    held = list(open_corpus(write("a.conllu", TWO_DOCUMENTS)))[1].meta["annotation"]
    assert held["form"][2:4] == ["de", "le"]
    assert list(zip(held["starts"], held["ends"]))[2:4] == [(9, 11), (9, 11)]
    assert "xpos" not in held  # the file has none for this document


def test_without_newdoc_each_sentence_is_a_document(write):
    corpus = open_corpus(write("b.conllu", f"# sent_id = s1\n{SENTENCE}\n\n{SENTENCE}"))
    assert [(d.id, d.text) for d in corpus] == [("s1", "One cat"), ("b:6", "One cat")]
    assert corpus.guesses[0].endswith("one document per sentence (the file has no '# newdoc')")


def test_white_space_after_a_word_is_kept_where_the_file_tells_it(write):
    spaced = SENTENCE.replace("nummod\t_\t_", "nummod\t_\tSpacesAfter=\\s\\t")
    assert next(iter(open_corpus(write("b.conllu", spaced)))).text == "One \tcat"


def test_a_file_without_heads_has_words_and_tags_alone(write):
    path = write(
        "b.conllu", SENTENCE.replace("\t2\tnummod", "\t_\t_").replace("\t0\troot", "\t_\t_")
    )
    held = next(iter(open_corpus(path))).meta["annotation"]
    assert set(held) == {"starts", "ends", "form", "lemma", "upos", "xpos", "sentence_ends"}


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "problem"),
    [
        ("\tnummod\t_\t_", "\tnummod\t_", 1, None, "9 columns, not 10"),
        ("2\tcat", "3\tcat", 2, "ID", "'3' where 2 has to follow"),
        ("2\tcat", "2-1\tcat", 2, "ID", "where 2 has to follow"),
        ("\t2\tnummod", "\t3\tnummod", 1, "HEAD", "'3' is not another word of this sentence of 2"),
        ("\t2\tnummod", "\t1\tnummod", 1, "HEAD", "'1' is not another word"),
        ("\t2\tnummod", "\tx\tnummod", 1, "HEAD", "'x' is not another word"),
        ("\t0\troot", "\t1\troot", 1, "HEAD", "cycle through word 1"),
        ("1\tOne", "1\t", 1, "FORM", "the word is empty"),
        ("1\tOne", "# text = Two cat\n1\tOne", 1, "text", "'One' (line 2) is not the next token"),
        (
            "2\tcat",
            "2-3\tcats\t_\t_\t_\t_\t_\t_\t_\t_\n2\tcat",
            2,
            "ID",
            "without all of its words",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_column(write, old, new, line, field, problem):
    assert old in SENTENCE
    path = write("bad.conllu", SENTENCE.replace(old, new) + "\n" + SENTENCE)
    error = complaint(path)
    assert (error.file, error.line, error.field) == (str(path), line, field)
    assert problem in error.problem
    texts, problems = skipped(path)
    assert texts == ["One cat"]
    assert len(problems) == 1


def test_one_bad_sentence_costs_its_document_and_no_other(write):
    path = write("a.conllu", TWO_DOCUMENTS.replace("1\tYes", "7\tYes"))
    texts, problems = skipped(path)
    assert texts == ["Il parle du vent"]
    assert problems[0].line == 18


@pytest.mark.parametrize("size", [1, 60, 200, 10**6])
def test_shards_hold_whole_documents_and_add_up(write, monkeypatch, size):
    monkeypatch.setattr("rote.corpus._linewise.SHARD_BYTES", size)
    whole = [(d.text, d.meta) for d in open_corpus(write("w.conllu", TWO_DOCUMENTS))]
    for name, data in (
        ("a.conllu", TWO_DOCUMENTS.encode()),
        ("a.conllu.gz", gzip.compress(TWO_DOCUMENTS.encode())),
        ("a.conllu.zst", zstandard.compress(TWO_DOCUMENTS.encode())),
        ("crlf.conllu", TWO_DOCUMENTS.replace("\n", "\r\n").encode()),
    ):
        corpus = open_corpus(write(name, data))
        assert [(d.text, d.meta) for d in corpus] == whole
        assert sum(shard.size for shard in corpus.shards()) == corpus.size
    sentences = write("s.conllu", f"{SENTENCE}\n" * 5)
    assert len(list(open_corpus(sentences))) == 5


def test_empty_and_broken_files_are_reported(write):
    assert "the file is empty" in str(complaint(write("e.conllu", "\n\n")))
    cut = gzip.compress(TWO_DOCUMENTS.encode(), 0)[:-30]
    texts, problems = skipped(write("c.conllu.gz", cut))
    assert texts[0].startswith("They don't")
    assert "the file is truncated" in str(problems[-1])
    error = complaint(write("l.conllu", SENTENCE.replace("cat", "ch\xe2t").encode("latin-1")))
    assert error.line == 2
    latin = write("m.conllu", SENTENCE.replace("cat", "ch\xe2t").encode("latin-1"))
    assert next(iter(open_corpus(latin, ReadOptions(encoding="latin-1")))).text == "One chât"
