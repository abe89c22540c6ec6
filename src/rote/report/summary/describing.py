"""Each measure in a sentence, with the settings of a signature: no full stop, no citation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Settings = Mapping[str, str]

LAYERS = {
    "text": "the raw texts",
    "pos": "the part-of-speech tags",
    "upos": "the universal part-of-speech tags",
    "dep": "the dependency labels",
    "lower": "lower-cased words",
    "word": "words",
}


def _lexical(s: Settings) -> str:
    return (
        f"Lexical diversity is the share of different n-grams of {s['of']} among "
        f"{int(s['sample_ngrams']):,} drawn from each source (Unique-n, n = 1, 2, 3); MATTR "
        f"(windows of {s['window']} words), MTLD (threshold {s['threshold']}) and HD-D "
        f"({s['draws']} draws) are means over texts"
    )


def _syntactic(s: Settings) -> str:
    return (
        "Syntactic diversity is the mean over pairs of sentences of 1 - k, with k the normalized "
        f"Weisfeiler-Lehman kernel (depth {s['depth']}) of their dependency trees with nodes "
        "labelled by universal part of speech; it is also given at equal lengths of sentences"
    )


def _semantic(s: Settings) -> str:
    return (
        f"Semantic diversity is the mean over pairs of {s['unit']}s of (1 - cos) / 2 of their "
        f"embeddings{_sentences(s)}; the Vendi score and the distance to the nearest other stand "
        "beside it"
    )


def _compression(s: Settings) -> str:
    level = f" at level {s['gzip_level']}" if "gzip" in s["codecs"] else ""
    return (
        f"The compression ratio of {s['of']} is their size divided by that after {s['codecs']}"
        f"{level}, texts in the order of the input"
    )


def _self_repetition(s: Settings) -> str:
    return (
        "Self-repetition is the mean over texts of ln(1 + s), where s sums over the different "
        f"{s['n']}-grams of a text how many other texts of its source hold them"
    )


def _homogenization(s: Settings) -> str:
    return (
        "Homogenization is the mean over pairs of texts of a source of ROUGE-L F and of sentence "
        "BLEU"
    )


def _templates(s: Settings) -> str:
    least = "" if s["min_count"] == "1" else f" that stand at least {s['min_count']} times"
    return (
        f"Templates of a source are the {s['top']} most frequent n-grams (n = {s['n']}) of "
        f"{s['of']} in its texts{least}; we give the share of texts that hold one, and "
        "occurrences per word"
    )


def _precision_recall(s: Settings) -> str:
    return (
        "Precision is the share of a source's sentences that lie within the ball of a sentence of "
        "the reference, recall the share of the reference's sentences within a ball of the source, "
        f"where balls reach to the neighbour number {s['k']} (on {s['on'].replace(',', ' and ')}"
        f"{_sentences(s)})"
    )


def _favoured(s: Settings) -> str:
    return (
        f"Patterns that a source favours are n-grams of {s['of']} (n = "
        f"{s['lengths'].replace(',', ', ')}), ranked by their log-odds ratio with an informative "
        "prior; those of the reference come from its sentences that lie outside every ball of the "
        "source; their p-values are family-wise, from texts permuted between source and reference "
        "through the whole selection"
    )


def _novelty(s: Settings) -> str:
    tags = f" and of {LAYERS.get(s['tags'], s['tags'])}" if s.get("tags") else ""
    return (
        f"Novelty is the share of n-grams of {s['of']}{tags} that the corpus does not hold (n up "
        "to 30); coverage is the share of words inside a run of at least L words that it holds, "
        "and the creativity index the sum of 1 - coverage over L = 5 to 12"
    )


def _originality(s: Settings) -> str:
    most = s["relax"]
    whose = "one source" if most == "1" else f"at most {most} sources"
    return (
        "A fragment (two words or more of a sentence, not begun or ended by a function word) is "
        f"original if no source of the corpus holds it and needs a citation if {whose} of it does; "
        "a sentence is original if it holds an original fragment and fails if it holds one that "
        "needs a citation, documents of one author being one source"
    )


def _contamination(s: Settings) -> str:
    short, _, long = s["n"].partition(",")
    return (
        f"A text is contaminated if the corpus holds at least {float(s['share']):.0%} of its "
        f"{short}-grams, near if {float(s.get('near', 0.75)):.0%} of its words stand in one "
        f"passage in the same order, and touched if neither holds but it has a {long}-gram"
    )


def _overlap(s: Settings) -> str:
    return (
        f"Overlap is the share of {s['n']}-gram positions of the field {s['on']} whose n-gram "
        "stands in the training set; items are put into bins by it, T_nov with the least and T_sim "
        "with the most"
    )


def _entity_scores(s: Settings) -> str:
    return (
        "Of the words of named entities, E_Prc is the share of the text's that are in the "
        "document, E_Rem the share that are in the reference text and not in the document, and "
        "E_Rec the share of those of reference text and document that the text has"
    )


def _rouge(s: Settings) -> str:
    stems = "" if s["stemming"] == "False" else " on Porter stems"
    kind = {"f": "F"}.get(s["score"], s["score"])
    return (
        f"ROUGE-1, -2, -L and -Lsum ({kind}){stems} are those of each text against the field "
        f"{s['to']}"
    )


def _similarity(s: Settings) -> str:
    return f"Similarity is the cosine of the embeddings of each text and of the field {s['to']}"


def _popularity(s: Settings) -> str:
    return (
        "The popularity of an instance is the mean decile (1 to 10) of the counts of its "
        f"{s['n']}-grams in the corpus ({s['count']}); items are put into a low and a high half by "
        "the median of how much more popular the right option is"
        + (", divided by its popularity" if s.get("variant") == "paper" else "")
    )


def _sentences(s: Settings) -> str:
    if s.get("sentences", "None") == "None":
        return ""
    return f", at most {int(s['sentences']):,} sentences of each source"


SENTENCES: Mapping[str, Callable[[Settings], str]] = {
    "lexical": _lexical,
    "syntactic": _syntactic,
    "semantic": _semantic,
    "compression": _compression,
    "self-repetition": _self_repetition,
    "homogenization": _homogenization,
    "templates": _templates,
    "precision-recall": _precision_recall,
    "favoured": _favoured,
    "novelty": _novelty,
    "originality": _originality,
    "contamination": _contamination,
    "overlap": _overlap,
    "entity-scores": _entity_scores,
    "rouge": _rouge,
    "similarity": _similarity,
    "popularity": _popularity,
}
