"""Makes the WordPiece fixtures with the `tokenizers` library.

    python tests/reference/make_wordpiece.py MINILM_FOLDER [SHARED_DATA_FOLDER]

wordpiece_tiny/tokenizer.json  a small vocabulary with added tokens of every flag
wordpiece_tiny.tsv             lines and their ids with it
wordpiece_minilm.tsv           2,000 odd lines and their ids with all-MiniLM-L6-v2
wordpiece_unicode.txt          digests of what normaliser and cut do to every code point
wordpiece_shared.txt           digests of 2,000 lines of the shared data and of their ids

A line of the TSV files is: text, [second text,] ids with special tokens; bytes below 32, 127
and the backslash are written as backslash and two hexadecimal digits.
"""
import hashlib
import json
import os
import random
import sys

from tokenizers import Tokenizer, normalizers, pre_tokenizers

here = os.path.dirname(os.path.abspath(__file__))
rng = random.Random(7)


def escape(s):
    return "".join("\\%02x" % ord(c) if ord(c) < 32 or ord(c) in (127, 92) else c for c in s)


def plain(path):
    t = Tokenizer.from_file(path)
    t.no_truncation()
    t.no_padding()
    return t


def write(name, tokenizer, lines):
    with open(os.path.join(here, name), "w", encoding="utf-8", newline="\n") as out:
        for line in lines:
            pair = line if isinstance(line, tuple) else (line,)
            ids = tokenizer.encode(*pair).ids
            out.write("\t".join([escape(t) for t in pair] + [" ".join(map(str, ids))]) + "\n")


WORDS = ("the cat sat on mat film good bad very not Tokenization unbelievable CAFÉ naïve résumé "
         "don't it's U.S.A. 3.14 1,000,000 e-mail http://a.b/c?d=e&f #tag @name $5 50% C++ x_y "
         "Straße GROẞ İstanbul ıssız ǅ Ω ΣΑΣ ﬁne ﬂow ½ ² ℌ ℓ Å Å ệ ệ ñ ñ 한국어 한국 "
         "日本語 ひらがな カタカナ 我爱北京 漢字 豈 丽 𠀀 𪜀 𫝀 𫠠 ไทย हिन्दी తెలుగు עִבְרִית عَرَبِيّ "
         "Привет МОСКВА йод ёлка Ђ ქართული ᲐᲑᲒ Ꭰꭰ 🎬 👩‍👩‍👧 🇩🇪 ☃️ ✔️ “quoted” ‘x’ — – … « » ¿ ¡ "
         "、。「」 ！？ ｆｕｌｌ １２３ ＡＢＣ ̈ ́alone \u302e\u302f \u302f\u302e \U0001d165\u302e").split()
ODD = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u00a0", "\u2003", "\u3000",
       "\u2028", "\u2029", "\u0085", "\u180e", "\u202e", "\x00", "\x01", "\x07", "\x0b", "\x0c",
       "\x1b", "\x1c", "\x7f", "\u0080", "\u009b", "\ufffd", "\ufffe", "\uffff", "\ue000",
       "\U000f0000", "\U000e0001", "\U0010ffff", "\t", "\n", "\r", "\r\n", "\u0300", "\u0301",
       "\u0327", "\u0345", "\u034f", "\u05bf", "\u0f71", "\u1734", "\u166d", "\u20dd", "\u3099"]
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "[sep]", "[ SEP ]", "[MASK", "[[SEP]]",
           "[unused1]", "##s", "##able", "[SEP][SEP]", "x[MASK]y"]


def random_text(i):
    kind = i % 10
    n = rng.randint(0, 9)
    if kind == 0:  # any code points
        cps = [rng.choice([rng.randint(1, 0x24F), rng.randint(0x250, 0x2FFF), rng.randint(0x3000, 0xD7FF),
                           rng.randint(0xE000, 0x1FFFF), rng.randint(0x20000, 0x10FFFF)])
               for _ in range(rng.randint(1, 20))]
        return "".join(map(chr, cps))
    if kind == 1:  # odd characters between and inside words
        return "".join(rng.choice(WORDS) + rng.choice(ODD) for _ in range(n))
    if kind == 2:  # special tokens written in the text
        return "".join(rng.choice(WORDS + SPECIAL * 4) + rng.choice(["", " ", "  "]) for _ in range(n))
    if kind == 3:  # combining marks in any order
        return "".join(rng.choice("aeiouyAEIOU중ㅏ") + "".join(chr(rng.choice([*range(0x300, 0x370), 0x302E,
                       0x302F, 0x1D165, 0x1D16D, 0x34F])) for _ in range(rng.randint(0, 5))) for _ in range(n))
    if kind == 4:  # long words around the limit of 100 characters
        c = rng.choice(["a", "ab", "é", "好", "x1", "un"])
        return c * rng.choice([30, 49, 50, 51, 99, 100, 101, 150]) + rng.choice(["", " good", "!"])
    return rng.choice(["", " "]) + rng.choice([" ", "  ", "\t", ""]).join(
        rng.choice(WORDS) for _ in range(n)) + rng.choice(["", " ", ".", "!?", "…"])


FIXED = ["", " ", "   ", "\n", "The cat sat on the mat.", "unaffable", "unaffx", "Café", "Cafe\u0301",
         "CAFÉS", "我爱cat", "don't", "a\u200bb", "a\tb", "not good!", "a" + "b" * 99, "a" + "b" * 100,
         "cat [SEP] mat", "cat[SEP]mat", "cat [sep] mat", "cat [PAD] mat", "[SEP][SEP]", "cat [MASK]s",
         "un ##able", ("cat [SEP] mat", "the mat"), ("", ""), ("cat", ""), ("", "mat")]


def odd_lines(count):
    lines = list(FIXED)
    while len(lines) < count:
        i = len(lines)
        lines.append((random_text(i), random_text(i * 7 + 3)) if i % 9 == 0 else random_text(i))
    return lines


def tiny():
    folder = os.path.join(here, "wordpiece_tiny")
    os.makedirs(folder, exist_ok=True)
    vocab = ("[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat un ##aff ##able ##s cafe . , ! ' \" "
             "我 爱 a ##b ##c not good bad film very ##ly 3").split()

    def added(i, content, **flags):
        base = dict(id=i, content=content, single_word=False, lstrip=False, rstrip=False,
                    normalized=False, special=True)
        base.update(flags)
        return base

    tokens = [added(i, t) for i, t in enumerate(vocab[:5])]
    tokens += [added(32, "<x1>", special=False, normalized=True), added(33, "<x2>", lstrip=True),
               added(34, "<x3>", rstrip=True), added(35, "Éa", special=False, normalized=True),
               added(36, "ion", special=False, single_word=True), added(37, "<x", special=False),
               added(38, "<both>", lstrip=True, rstrip=True),
               added(39, "ure", special=False, single_word=True, normalized=True)]
    special = {t: {"id": t, "ids": [vocab.index(t)], "tokens": [t]} for t in ("[CLS]", "[SEP]")}

    def piece(t, k):
        return {"SpecialToken" if t[0] == "[" else "Sequence": {"id": t, "type_id": k}}

    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": {t: i for i, t in enumerate(vocab)}}
    root = {"version": "1.0", "truncation": {"direction": "Right", "max_length": 8, "strategy":
            "LongestFirst", "stride": 0}, "padding": None, "added_tokens": tokens,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing",
                               "single": [piece("[CLS]", 0), piece("A", 0), piece("[SEP]", 0)],
                               "pair": [piece("[CLS]", 0), piece("A", 0), piece("[SEP]", 0),
                                        piece("B", 1), piece("[SEP]", 1)], "special_tokens": special},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}, "model": model}
    path = os.path.join(folder, "tokenizer.json")
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        json.dump(root, out, ensure_ascii=False, indent=0)
        out.write("\n")
    parts = ["<x1>", "<X1>", "<x2>", "<x3>", "<x", "<both>", "éa", "ÉA", "Éa", "ion", "Ion", "ure", "URE", "Ur\u0301e", "\u200b", "\u0301", "cat", " ",
             "  ", "\t", "\u3000", "[SEP]", ".", "_", "é", "Ⓐ", "\u200d", "mat", "<", "x2>"]
    lines = list(FIXED)
    while len(lines) < 1500:
        lines.append("".join(rng.choice(parts) for _ in range(rng.randint(1, 8))))
    write("wordpiece_tiny.tsv", plain(path), lines)


def block_digests(name, made):
    """A line each 4,096 code points: the digest of all texts that `made` gives for their characters."""
    with open(os.path.join(here, name), "w", newline="\n") as out:
        for block in range(0, 0x110000, 0x1000):
            h = hashlib.sha256()
            for cp in range(block, block + 0x1000):
                if 0xD800 <= cp < 0xE000:
                    continue
                for text in made(chr(cp)):
                    h.update(text.encode())
            out.write("%06x %s\n" % (block, h.hexdigest()[:16]))


def unicode_digests():
    settings = [dict(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True),
                dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=True),
                dict(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)]
    norms = [normalizers.BertNormalizer(**s) for s in settings]
    cut = pre_tokenizers.BertPreTokenizer()

    def made(c):
        for norm in norms:
            yield "\n".join(w for w, _ in cut.pre_tokenize_str(norm.normalize_str("a" + c + "b"))) + "\n\n"

    block_digests("wordpiece_unicode.txt", made)


def shared(tokenizer, folder):
    files = ["glue/SST-2/train.tsv", "glue/MRPC/train.tsv", "glue/STS-B/train.tsv", "glue/QQP/train.tsv",
             "glue/MNLI/train.tsv", "vader/tweets_GroundTruth.txt", "goemotions/dev.tsv",
             "debian-derived/en-de-train.tsv", "debian-derived/en-fr-train.tsv", "banking77/test.csv"]
    files = [f for f in files if os.path.exists(os.path.join(folder, f))]
    with open(os.path.join(here, "wordpiece_shared.txt"), "w", newline="\n") as out:
        for i, name in enumerate(files):
            lines = open(os.path.join(folder, name), "rb").read().split(b"\n")
            lines = sorted({x for x in lines if x and len(x) < 4000},
                           key=lambda x: hashlib.sha256(x).digest())
            lines = [x for x in lines if not x.isascii()][:100] + [x for x in lines if x.isascii()]
            want = 2000 // len(files) + (i < 2000 % len(files))
            out.write("# %s %d\n" % (name, want))
            for line in lines[:want]:
                ids = tokenizer.encode(line.decode("utf-8")).ids
                digest = hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest()
                out.write("%s %s\n" % (hashlib.sha256(line).hexdigest()[:16], digest[:16]))


def main():
    minilm = plain(os.path.join(sys.argv[1], "tokenizer.json"))
    tiny()
    write("wordpiece_minilm.tsv", minilm, odd_lines(2000))
    unicode_digests()
    if len(sys.argv) > 2:
        shared(minilm, sys.argv[2])


if __name__ == "__main__":
    main()
