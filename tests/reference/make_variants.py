"""Makes subword_variants.jsonl with the `tokenizers` library.

    python tests/reference/make_variants.py

Small tokenizers that each use other parts of tokenizer.json than those of make_subword.py, one a line:
{"name": …, "tokenizer": the file, "digests": of what it makes of each text}.  The first line holds the
texts: {"texts": [[text] or [text, second text], …]}.
"""
import json
import os
import random

from tokenizers import Tokenizer

from make_subword import added, digest, odd_lines, result

here = os.path.dirname(os.path.abspath(__file__))
rng = random.Random(11)
LETTERS = list("abcdefilnorst'")
WORDS = "▁ ▁t ▁th ▁the th he the in on an at er ing ion ▁a ▁c ▁ca cat ▁film ll ▁ll re ve good lo ab aa ▁▁".split()


def bpe(**more):
    """Merges in random order, so that a pair often waits for one that comes later."""
    vocab, merges = ["<unk>"] + LETTERS + ["▁", "é", "中", "Ġ"], []
    while len(merges) < 70:
        a, b = rng.choice(vocab[1:]), rng.choice(vocab[1:])
        if len(a + b) < 6 and [a, b] not in merges:
            merges.append([a, b])
            if a + b not in vocab:
                vocab.append(a + b)
    for known in ("t h", "th e", "a b", "b a", "a a", "aa b", "a ab", "aa a", "a aa"):
        a, b = known.split(" ")
        for token in (a, b, a + b):
            if token not in vocab:
                vocab.append(token)
        merges.insert(rng.randrange(len(merges)), [a, b])
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {t: i for i, t in enumerate(vocab)}, "merges": merges}
    return dict(model, **more)


def affixed(prefix, suffix):
    """A BPE whose tokens say where in a word they stand."""
    singles = [p + c + s for c in "abcthe" for p in {"", prefix} for s in {"", suffix}]
    merges, vocab = [], ["<unk>"] + sorted(set(singles))
    while len(merges) < 60:
        a, b = rng.choice(vocab[1:]), rng.choice(vocab[1:])
        if (prefix and not b.startswith(prefix)) or (suffix and a.endswith(suffix)) or len(a + b) > 14:
            continue
        whole = a + b[len(prefix):]
        if [a, b] not in merges:
            merges.append([a, b])
            if whole not in vocab:
                vocab.append(whole)
    return bpe(vocab={t: i for i, t in enumerate(vocab)}, merges=merges, continuing_subword_prefix=prefix or None,
               end_of_word_suffix=suffix or None)


def with_bytes(model):
    tokens = ["<0x%02X>" % b for b in range(256)]
    if isinstance(model["vocab"], dict):
        model["vocab"].update({t: len(model["vocab"]) + i for i, t in enumerate(tokens)})
    else:
        model["vocab"] += [[t, -20.0] for t in tokens]
    return dict(model, byte_fallback=True)


def unigram(**more):
    scores = [["<unk>", 0.0], ["</s>", 0.0], ["en_XX", 0.0]]
    for t in dict.fromkeys(LETTERS + WORDS + ["é", "e\u0301", "中", "x</s>", "<unk>s"]):
        scores.append([t, -round(rng.uniform(1, 9), 1)])
    return dict({"type": "Unigram", "unk_id": 0, "vocab": scores, "byte_fallback": False}, **more)


def wordpiece():
    vocab = ["[UNK]", "[CLS]", "[SEP]"] + LETTERS + ["##" + c for c in LETTERS] + ["the", "cat", "##ing", "."]
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {t: i for i, t in enumerate(vocab)}}


def seq(kind, *steps):
    return {"type": "Sequence", kind: list(steps)}


def meta(**more):
    return dict({"type": "Metaspace", "replacement": "▁"}, **more)


def replace(text, content, regex=False):
    return {"type": "Replace", "pattern": {"Regex" if regex else "String": text}, "content": content}


def template(single, pair, **ids):
    def piece(x):
        name, kind = x.split(":")
        return {"Sequence" if name in "AB" else "SpecialToken": {"id": name, "type_id": int(kind)}}

    return {"type": "TemplateProcessing", "single": [piece(x) for x in single.split()],
            "pair": [piece(x) for x in pair.split()],
            "special_tokens": {k: {"id": k, "ids": v, "tokens": [k] * len(v)} for k, v in ids.items()}}


BLANKS, BERT = {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"}
FUSE, FALL = {"type": "Fuse"}, {"type": "ByteFallback"}


def bytes_of(prefix, regex=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def step(name, **more):
    return dict({"type": name}, **more)


LLAMA = seq("decoders", replace("▁", " "), FALL, FUSE, step("Strip", content=" ", start=1, stop=0))
ALBERT = seq("normalizers", replace("``", '"'), replace("''", '"'), step("NFKD"), step("StripAccents"),
             step("Lowercase"), replace(" {2,}", " ", True))
ONES = [added(1, "</s>"), added(2, "en_XX")]

VARIANTS = {  # name: model, normalizer, pre_tokenizer, post_processor, decoder, added tokens
    "bpe": (bpe(), None, BLANKS, None, None, []),
    "bpe fused": (bpe(fuse_unk=True), None, BLANKS, None, None, []),
    "bpe that drops": (bpe(unk_token=None), None, BERT, None, None, []),
    "bpe whole": (bpe(), None, None, None, FUSE, []),
    "bpe prefix": (affixed("##", ""), None, BLANKS, None, step("WordPiece", prefix="##", cleanup=False), []),
    "bpe suffix": (affixed("", "</w>"), step("Lowercase"), BLANKS, None, step("BPEDecoder", suffix="</w>"), []),
    "bpe both": (affixed("@", "</w>"), None, BERT, None, step("BPEDecoder", suffix="</w>"), []),
    "bpe ignoring": (bpe(ignore_merges=True), None, meta(prepend_scheme="always", split=True), None, meta(), []),
    "bpe llama": (with_bytes(bpe(fuse_unk=True)), seq("normalizers", step("Prepend", prepend="▁"),
                  replace(" ", "▁")), None, None, LLAMA, []),
    "bpe strings": (bpe(), None, bytes_of(True), bytes_of(True), bytes_of(True), []),
    "bpe no expression": (bpe(), None, bytes_of(True, False), seq("processors", bytes_of(True), template(
        "<unk>:0 A:0", "<unk>:0 A:0 B:1 <unk>:1", **{"<unk>": [0]})), bytes_of(True), []),
    "unigram": (unigram(), None, meta(prepend_scheme="always", split=True), None, meta(), []),
    "unigram old": (unigram(), None, seq("pretokenizers", BLANKS, meta(add_prefix_space=True)), template(
        "A:0 </s>:0 en_XX:0", "A:0 B:0 </s>:0 en_XX:0", **{"</s>": [1], "en_XX": [2]}), meta(), ONES),
    "unigram first": (unigram(), step("Strip", strip_left=True, strip_right=False),
                      meta(prepend_scheme="first", split=True), None, meta(prepend_scheme="first"), ONES),
    "unigram first word": (unigram(), step("StripAccents"), seq("pretokenizers", BLANKS, meta(
        prepend_scheme="first", split=False)), None, meta(prepend_scheme="never"), ONES),
    "unigram never": (unigram(), None, meta(prepend_scheme="never", split=False), template(
        "</s>:3 A:1", "B:2 </s>:0 A:7", **{"</s>": [1, 2]}), meta(prepend_scheme="never"), ONES),
    "unigram bytes": (with_bytes(unigram()), step("NFC"), meta(), None, seq("decoders", FALL, meta()), ONES),
    "unigram albert": (unigram(), ALBERT, meta(prepend_scheme="always"), None, meta(), ONES),
    "unigram nfkc": (unigram(), seq("normalizers", step("NFKC"), seq("normalizers", step("Strip", strip_left=False,
                     strip_right=True), replace("\\s+", "▁", True))), None, None, None, ONES),
    "unigram nfd": (unigram(), seq("normalizers", step("NFD"), replace("a+", "", True)), meta(), None, meta(), ONES),
    "unigram prepend": (unigram(), seq("normalizers", step("NFKD"), step("Prepend", prepend="▁"), replace(" ", "▁")),
                        meta(prepend_scheme="never"), None, meta(), [added(1, "</s>", special=False, normalized=True)]),
    "wordpiece": (wordpiece(), seq("normalizers", step("NFD"), step("Lowercase"), step("StripAccents")),
                  seq("pretokenizers", BLANKS, BERT), step("BertProcessing", sep=["[SEP]", 2], cls=["[CLS]", 1]),
                  step("WordPiece", prefix="##", cleanup=True), []),
}
VARIANTS["bpe strings"][0]["merges"] = [" ".join(m) for m in VARIANTS["bpe strings"][0]["merges"]]


def main():
    texts = [("".join(rng.choice("ab") for _ in range(rng.randint(1, 30))),) for _ in range(30)]
    texts += [("".join(rng.choice(LETTERS + ["the", "ing", " "]) for _ in range(rng.randint(1, 30))),)
              for _ in range(30)]
    texts += [t for t in odd_lines(140, 3) if all("\0" not in x and len(x) < 150 for x in t)]
    texts += [("  </s> the cat </s>cat  ",), ("\u0301the cat", "  the"), ("x</s>", "<unk>s<unk>"), ("aaa bab  caat",)]
    with open(os.path.join(here, "subword_variants.jsonl"), "w", encoding="utf-8", newline="\n") as out:
        def line(x):
            out.write(json.dumps(x, ensure_ascii=False, separators=(",", ":")) + "\n")

        line({"texts": texts})
        for name, (model, normal, cut, post, decoder, tokens) in VARIANTS.items():
            root = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normal,
                    "pre_tokenizer": cut, "post_processor": post, "decoder": decoder, "model": model}
            t = Tokenizer.from_str(json.dumps(root))
            line({"name": name, "tokenizer": root, "digests": [digest(result(t, x)) for x in texts]})


if __name__ == "__main__":
    main()
