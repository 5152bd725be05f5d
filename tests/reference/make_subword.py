"""Makes the fixtures of byte-level BPE and Unigram with the `tokenizers` library.

    python tests/reference/make_subword.py SHARED_DATA_FOLDER [T5_TOKENIZER_JSON]

bpe_tiny/       a byte-level BPE trained on the shared data, as RoBERTa's: tokenizer.json, and the
                same as vocab.json, merges.txt and tokenizer_config.json in bpe_tiny/files/
unigram_tiny/   a Unigram trained on it, as T5's, with a small character map of its own
odd_lines.txt   2,000 odd lines (escaped as in make_wordpiece.py; a tab between two texts)
odd_digests.txt for each of them one digest for every tokenizer
shared_digests.txt  the same for 2,000 lines of the shared data, which are named by their digests
subword_unicode.txt digests of what normalisers and cuts do to every code point

The tokenizers are bpe, unigram and t5 (that of google/flan-t5-small); a digest is over the ids with
special tokens, the type ids and the decoded text with and without special tokens.
"""
import base64
import hashlib
import json
import os
import random
import struct
import sys
import unicodedata

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from make_wordpiece import block_digests, escape, plain

here = os.path.dirname(os.path.abspath(__file__))


def digest(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()[:16]


def result(tokenizer, pair):
    x = tokenizer.encode(*pair)
    texts = [tokenizer.decode(x.ids, skip_special_tokens=skip) for skip in (False, True)]
    return "\n".join([" ".join(map(str, x.ids)), " ".join(map(str, x.type_ids))] + texts)


# ---- odd lines ----

WORDS = ("the cat sat on a mat it's we'll they've I'm you're he'd DON'T don't 's 't 'S ' '' ''s film good bad "
         "Tokenization unbelievable CAFÉ naïve résumé café 3.14 1,000,000 e-mail http://a.b/c?d=e&f #tag @name $5 "
         "50% C++ x_y Straße İstanbul ıssız ǅ Ω ﬁne ﬂow ½ ² ℌ Å Å ệ ñ ñ 한국어 한국 日本語 ひらがな "
         "ｶﾀｶﾅ ﾊﾞ ﾊﾟ 我爱北京 漢字 豈 丽 𠀀 ไทย น้ำ हिन्दी क़ తెలుగు עִבְרִית عَرَبِيّ ﷺ Привет МОСКВА йод ёлка Ђ "
         "ქართული 🎬 👩‍👩‍👧 🇩🇪🇫🇷 ☃️ ✔️ “quoted” ‘x’ — – … « » ¿ 、。「」 ！？ ｆｕｌｌ １２３ ＡＢＣ ① ⅷ ㎏ ㌀ "
         "ª º ª́ ﬁ̂ ﬃ ̈ ́alone 〮〯 𝐀𝐁 𝟘 ▁ ▁a a▁b ▁▁ Ġ Ġa Ċ � <0x41> <0xE2>").split()
ODD = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u00a0", "\u2003", "\u3000", "\u2028", "\u2029",
       "\u0085", "\u180e", "\u202e", "\x00", "\x01", "\x07", "\x0b", "\x0c", "\x1b", "\x1c", "\x7f", "\u0080",
       "\u009b", "\ufffd", "\ufffe", "\uffff", "\ue000", "\U000f0000", "\U000e0001", "\U0010ffff", "\t", "\n", "\r",
       "\r\n", "\u0300", "\u0301", "\u0327", "\u0345", "\u034f", "\u05bf", "\u0f71", "\u1734", "\u20dd", "\u3099",
       "\u309a", "\u1161", "\u11a8", "\ufe0f", "\U0001f3fd", "\u0600", "\u0e33", "\u0d4d"]
SPECIAL = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "<extra_id_0>", "<extra_id_99>", "<S>", "< s >", "<s", "<<s>>",
           "<x1>", "<x2>", "<both>", "Éa", "éa", "ion", "</s></s>", "x<mask>y", "<|endoftext|>"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", "\u00a0", " \u00a0", "\u3000", "\u2003 ", ""]


def random_text(rng, i):
    kind, n = i % 12, rng.randint(0, 9)
    if kind == 0:  # any code points
        return "".join(chr(rng.choice([rng.randint(1, 0x24F), rng.randint(0x250, 0x2FFF), rng.randint(0x3000, 0xD7FF),
                                       rng.randint(0xE000, 0x1FFFF), rng.randint(0x20000, 0x10FFFF)]))
                       for _ in range(rng.randint(1, 20)))
    if kind == 1:  # odd characters between and inside words
        return "".join(rng.choice(WORDS) + rng.choice(ODD) for _ in range(n))
    if kind in (2, 3):  # special tokens written in the text
        return "".join(rng.choice(WORDS + SPECIAL * 5) + rng.choice(SPACES) for _ in range(n))
    if kind == 4:  # combining marks in any order
        marks = [*range(0x300, 0x370), 0x302E, 0x302F, 0x1D165, 0x1D16D, 0x34F, 0x3099, 0x5B0, 0x64B, 0x93C, 0x94D]
        return "".join(rng.choice("aeiouyAEIOUª中ㅏかハक") + "".join(chr(rng.choice(marks))
                       for _ in range(rng.randint(0, 4))) for _ in range(n))
    if kind == 5:  # long words
        c = rng.choice(["a", "ab", "é", "好", "x1", "un", "'", "🎬", "é", "\u0301", " ", "\n", "ing", "▁", "lo", "ª"])
        return rng.choice(["", " ", "x"]) + c * rng.choice([30, 50, 100, 150]) + rng.choice(["", " good", "!", " "])
    if kind == 6:  # blanks of every kind
        return "".join(rng.choice(SPACES + ["a", "the", "1", "!"]) for _ in range(n + 1))
    if kind == 7:  # one block of Unicode
        block = rng.randrange(0, 0x1FFFF, 0x80)
        cps = [block + rng.randrange(0x80) for _ in range(rng.randint(1, 16))]
        return "".join(chr(c) + rng.choice(["", "", " "]) for c in cps if not 0xD800 <= c < 0xE000)
    return rng.choice(["", " ", "  "]) + rng.choice(SPACES[:4] + [" "] * 4).join(
        rng.choice(WORDS) for _ in range(n)) + rng.choice(["", " ", "  ", ".", "!?", "…", "\n"])


FIXED = ["", " ", "  ", "   ", "\n", "\t", "\u00a0", "The cat sat on the mat.", "don't", "DON'T", "we'll've", "a" * 300, "ab" * 150,
         "cat <s> mat", "cat<mask>mat", "cat <mask> mat", "</s></s>", "<s>", " <s> ", "cat  mat   ", "x\u0301" * 40,
         "\r\n\r\n", "a\r\nb", "🎬" * 60, ("cat </s> mat", "the mat"), ("", ""), ("cat", ""), ("", "mat"), (" ", " cat")]


def odd_lines(count, seed=7):
    rng = random.Random(seed)
    lines = [x if isinstance(x, tuple) else (x,) for x in FIXED]
    while len(lines) < count:
        i = len(lines)
        lines.append((random_text(rng, i), random_text(rng, i * 5 + 3)) if i % 11 == 0 else (random_text(rng, i),))
    return lines


# ---- the shared data ----

FILES = ["glue/SST-2/train.tsv", "glue/MRPC/train.tsv", "glue/STS-B/train.tsv", "glue/QQP/train.tsv",
         "glue/MNLI/train.tsv", "vader/tweets_GroundTruth.txt", "goemotions/dev.tsv",
         "debian-derived/en-de-train.tsv", "debian-derived/en-fr-train.tsv", "banking77/test.csv"]


def shared_lines(folder, name, count):
    lines = open(os.path.join(folder, name), "rb").read().split(b"\n")
    lines = sorted({x for x in lines if x and len(x) < 4000}, key=lambda x: hashlib.sha256(b"2" + x).digest())
    return ([x for x in lines if not x.isascii()][:100] + [x for x in lines if x.isascii()])[:count]


def training_text(folder):
    for name in FILES:
        for line in open(os.path.join(folder, name), encoding="utf-8", errors="replace").read().split("\n")[:1500]:
            yield line


# ---- tokenizers ----

def added(i, content, **flags):
    base = dict(id=i, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return dict(base, **flags)


def odd_tokens(first):
    """Added tokens of every flag after a vocabulary of `first` tokens."""
    return [added(first, "<x1>", special=False, normalized=True), added(first + 1, "<x2>", lstrip=True),
            added(first + 2, "<both>", lstrip=True, rstrip=True),
            added(first + 3, "Éa", special=False, normalized=True),
            added(first + 4, "ion", special=False, single_word=True)]


def save(root, name):
    path = os.path.join(here, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        json.dump(root, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")
    return path


def make_bpe(folder):
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(training_text(folder), trainers.BpeTrainer(
        vocab_size=1500, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    model = json.loads(t.to_str())["model"]
    tokens = [added(i, s) for i, s in enumerate(specials)]
    tokens[4]["lstrip"] = True
    side = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    root = {"version": "1.0", "truncation": {"direction": "Right", "max_length": 9, "strategy": "LongestFirst",
                                             "stride": 0}, "padding": None,
            "added_tokens": tokens + odd_tokens(len(model["vocab"])), "normalizer": None, "pre_tokenizer": side,
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                               "trim_offsets": True, "add_prefix_space": False}, "decoder": side, "model": model}
    path = save(root, "bpe_tiny/tokenizer.json")
    save(model["vocab"], "bpe_tiny/files/vocab.json")
    with open(os.path.join(here, "bpe_tiny/files/merges.txt"), "w", encoding="utf-8", newline="\n") as out:
        out.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in model["merges"]))
    decoder = {str(x["id"]): {k: v for k, v in x.items() if k != "id"} for x in root["added_tokens"]}
    save({"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, "model_max_length": 9,
          "added_tokens_decoder": decoder}, "bpe_tiny/files/tokenizer_config.json")
    return path


def double_array(words):
    """A Darts double array of {bytes: value} as 32-bit units."""
    units, used, top = {0: 0}, {0}, 256

    def grow(prefix, at, items):
        nonlocal top
        labels = sorted({k[len(prefix)] if len(k) > len(prefix) else 0 for k, _ in items})
        offset = 1
        while any((at ^ offset ^ c) in used for c in labels) or offset >> 21:
            offset += 1
        base = at ^ offset
        units[at] = units.get(at, 0) | offset << 10
        for c in labels:
            used.add(base ^ c)
            top = max(top, base ^ c)
        for c in labels:
            inside = [(k, v) for k, v in items if (k[len(prefix)] if len(k) > len(prefix) else 0) == c]
            if c == 0:
                units[at] |= 1 << 8
                units[base] = 1 << 31 | inside[0][1]
            else:
                units[base ^ c] = c
                grow(prefix + bytes([c]), base ^ c, inside)

    grow(b"", 0, sorted(words.items()))
    return [units.get(i, 0) for i in range(-(-(top + 1) // 256) * 256)]


def small_map():
    """What NFKC does to a choice of characters, with controls dropped and blanks made one."""
    pairs = {c: "" for c in "\x01\x07\x0b\x1b\x7f\u200b\u200e\ufeff\u00ad"}
    pairs.update({c: " " for c in "\t\n\r\u00a0\u2003\u3000\u2028"})
    for cp in [*range(0xA8, 0xBF), *range(0xFB00, 0xFB07), *range(0xFF01, 0xFF5F), *range(0xFF66, 0xFFA0), 0x2126,
               0x212B, 0x3300, 0x338F, 0x2460, 0x1D400, 0x1D7D8, 0x958, 0xE33, 0xFDFA]:
        if unicodedata.normalize("NFKC", chr(cp)) != chr(cp):
            pairs[chr(cp)] = unicodedata.normalize("NFKC", chr(cp))
    for base in "aeiouAEIOUn":
        for mark in "\u0300\u0301\u0302\u0303\u0308":
            whole = unicodedata.normalize("NFC", base + mark)
            if len(whole) == 1:
                pairs[base + mark] = whole
    pool, words = b"", {}
    for key, value in pairs.items():
        words[key.encode()] = len(pool)
        pool += value.encode() + b"\0"
    units = double_array(words)
    trie = struct.pack("<%dI" % len(units), *units)
    return base64.b64encode(struct.pack("<I", len(trie)) + trie + pool).decode()


def make_unigram(folder):
    specials = ["<pad>", "</s>", "<unk>"]
    chain = {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": small_map()},
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]}
    side = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(training_text(folder), trainers.UnigramTrainer(
        vocab_size=1400, special_tokens=specials, unk_token="<unk>", show_progress=False))
    model = json.loads(t.to_str())["model"]
    model["vocab"] = [[s, round(v, 6)] for s, v in model["vocab"]] + [["<extra_id_%d>" % i, 0.0] for i in (1, 0)]
    n = len(model["vocab"])
    tokens = [added(i, s) for i, s in enumerate(specials)]
    tokens += [added(n - 1, "<extra_id_0>"), added(n - 2, "<extra_id_1>")]
    end = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    a, b = ({"Sequence": {"id": x, "type_id": 0}} for x in "AB")
    root = {"version": "1.0", "truncation": None, "padding": {
                "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                "pad_type_id": 0, "pad_token": "<pad>"},
            "added_tokens": tokens + odd_tokens(n), "normalizer": chain, "pre_tokenizer": side,
            "post_processor": {"type": "TemplateProcessing", "single": [a, end], "pair": [a, end, b, end],
                               "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}},
            "decoder": side, "model": model}
    return save(root, "unigram_tiny/tokenizer.json")


# ---- every code point ----

def unicode_digests(mapped):
    forms = [f() for f in (normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD,
                           normalizers.Lowercase, normalizers.StripAccents)]
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    blanks = pre_tokenizers.WhitespaceSplit()

    def made(c):
        for f in forms:
            yield f.normalize_str("a\u0345" + c + "\u0301\u0327b") + "\n"
        for text in ("ª" + c, "क्" + c + "\u0301"):
            yield mapped.normalize_str(text) + "\n"
        for before in "a1!":
            yield "\n".join(w for w, _ in cut.pre_tokenize_str(before + c)) + "\n"
        yield "\n".join(w for w, _ in blanks.pre_tokenize_str("a" + c + "b")) + "\n"

    block_digests("subword_unicode.txt", made)


def main():
    folder = sys.argv[1]
    paths = [make_bpe(folder), make_unigram(folder)] + sys.argv[2:3]
    tokenizers = [plain(p) for p in paths]
    odd = odd_lines(2000)
    with open(os.path.join(here, "odd_lines.txt"), "w", encoding="utf-8", newline="\n") as out:
        out.writelines("\t".join(map(escape, pair)) + "\n" for pair in odd)
    with open(os.path.join(here, "odd_digests.txt"), "w", newline="\n") as out:
        out.writelines(" ".join(digest(result(t, pair)) for t in tokenizers) + "\n" for pair in odd)
    with open(os.path.join(here, "shared_digests.txt"), "w", newline="\n") as out:
        for name in FILES:
            lines = shared_lines(folder, name, 2000 // len(FILES))
            out.write("# %s %d\n" % (name, len(lines)))
            for line in lines:
                out.write(" ".join([digest(line)] + [digest(result(t, (line.decode(),))) for t in tokenizers]) + "\n")
    unicode_digests(tokenizers[1].normalizer)


if __name__ == "__main__":
    main()
