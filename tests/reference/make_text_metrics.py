"""Makes text_metrics.jsonl: 500 pairs of texts with the values of rouge-score and sacrebleu.

    python tests/reference/make_text_metrics.py

A line is {"gold", "text", "rouge": [1, 2, L], "bleu"}: F1 without stemmer, and BLEU (13a,
exponential smoothing) of the pair as a corpus of its own.  After every 50 pairs a line
{"corpus": BLEU of these 50, "all": BLEU of all so far}.

Also makes strip.txt: the code points that str.strip() removes, in hexadecimal, one a line.
"""
import json
import os
import random

from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU

rng = random.Random(7)
WORDS = ("the cat sat on a mat and dog ran in rain to it was not very good film but we all saw that one time "
         "when they went home again with new red car of mine").split()
ODD = ["don't", "U.S.A.", "3.14", "1,000,000", "$5.00", "50%", "e-mail", "2019-20", "10-20", "3-", "-3", "...", "..",
       "a.b", "a,b", "1.", ".5", ",", "?!", "\"quoted\"", "'single'", "(paren)", "[x]", "{y}", "a/b", "x@y.org", "#1",
       "C++", "&amp;", "&quot;hi&quot;", "&lt;b&gt;", "&amp;lt;", "&nbsp;", "<skipped>", "caf\u00e9", "na\u00efve",
       "\u00dcber", "\u4f60\u597d", "\u4f60\u597d\u3002", "\u041f\u0440\u0438\u0432\u0435\u0442", "\U0001F3AC",
       "\u201cq\u201d", "\u2019s", "\u2026", "\u2014", "\u212a", "\u0130stanbul", "\u212b", "\u00bd", "\u0663",
       "it\u00a0is", "a\u2003b", "x\u200by", "line-\nbreak", "two\nlines", "tab\there", "\u2028", "~", "`", "^_^", "\\",
       "A1b2", "The", "THE", "iPhone6", "v2.0,", "1.a", "a.1", "1,a", "5.,6", "9-a", "9--a", "\u00e9.", ".\u00e9",
       "\u4f60.\u597d", "\x1f", "x\x1cy", "a~b", "-\n-", "\x85", "---", "a_b", "co-op", "R&D", "&"]


def sentence(n):
    out = [rng.choice(WORDS) if rng.random() < 0.75 else rng.choice(ODD) for _ in range(n)]
    return rng.choice([" ", " ", " ", "  ", ""] if n < 3 else [" "]).join(out) + rng.choice(["", ".", " .", "!", "\n", "- ", "-\n"])


def changed(s):
    words = s.split(" ")
    for _ in range(rng.randrange(1, 4)):
        i = rng.randrange(len(words) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            words.insert(i, rng.choice(WORDS + ODD))
        elif kind == 1 and i < len(words):
            del words[i]
        elif kind == 2 and i < len(words):
            words[i] = rng.choice([words[i].upper(), rng.choice(WORDS), words[i] + "."])
        elif kind == 3 and i < len(words):
            words[i:i] = words[i:i + 1] * rng.randrange(1, 4)
        else:
            rng.shuffle(words)
    return " ".join(words)


FIXED = [("", ""), ("", "the cat"), ("the cat", ""), (" ", "\n"), ("a", "a"), ("a", "b"), ("cat", "Cat"), (".", "."),
         ("\u4f60\u597d", "\u4f60\u597d"), ("the the the the", "the"), ("the", "the the the the"), ("a b c", "a b c"),
         ("a b c d", "a b c d"), ("a b c d", "d c b a"), ("!?", "?!"), ("3.14", "3,14"), ("&amp;amp;", "&")]


def pair(i):
    if i < len(FIXED):
        return FIXED[i]
    gold = sentence(rng.choice([1, 2, 3, 4, 5, 8, 12, 20]))
    if rng.random() < 0.15:
        return gold, sentence(rng.choice([1, 3, 6, 15]))
    return gold, rng.choice([changed, changed, changed, lambda s: s])(gold)


def make_strip(folder):
    with open(os.path.join(folder, "strip.txt"), "w", encoding="ascii") as f:
        f.writelines(f"{cp:X}\n" for cp in range(0x110000) if not chr(cp).strip())


def main():
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)
    bleu = BLEU(smooth_method="exp", tokenize="13a")
    pairs = [pair(i) for i in range(500)]
    folder = os.path.dirname(os.path.abspath(__file__))
    make_strip(folder)
    path = os.path.join(folder, "text_metrics.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for i, (gold, text) in enumerate(pairs):
            r = scorer.score(gold, text)
            row = {"gold": gold, "text": text,
                   "rouge": [round(r[k].fmeasure, 7) for k in ("rouge1", "rouge2", "rougeL")],
                   "bleu": round(bleu.corpus_score([text], [[gold]]).score, 7)}
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
            if i % 50 == 49:
                part = [bleu.corpus_score([t for _, t in p], [[g for g, _ in p]]).score
                        for p in (pairs[i - 49:i + 1], pairs[:i + 1])]
                f.write(json.dumps({"corpus": round(part[0], 7), "all": round(part[1], 7)}) + "\n")


main()
