#!/usr/bin/env python3
"""Tiny XLM-R and CamemBERT classifiers with their tokenizers, and what transformers answers with them.

    make_xlm.py [OUT]    writes tests/reference/xlm/NAME/ (or OUT/NAME/) for xlm-roberta and camembert

Random models as transformers saves them, with a Unigram of the first pieces of ../unigram_tiny and its character map.  rows.tsv has texts
and second texts (or nothing); expected.tsv a line for each: the ids of its tokens, a tab, the probabilities of the three classes, computed
in 64 bits.
"""
import base64
import json
import pathlib
import shutil
import sys

import torch
from transformers import (CamembertConfig, CamembertForSequenceClassification, CamembertTokenizer, XLMRobertaConfig,
                          XLMRobertaForSequenceClassification, XLMRobertaTokenizer)

HERE = pathlib.Path(__file__).resolve().parent
PIECES = 150
ROWS = [
    ("the dog saw a bird", ""), ("  The   red  house ", ""), ("ｆｕｌｌ ｗｉｄｔｈ and ½", ""), ("naïve café — 日本語 ?", ""),
    ("a", "b"), ("one text", "and another, longer than that"), ("<mask> is here", ""), ("x", ""), ("...!!!", "?"), ("unknowable 𝔘 ☃", ""),
    ("ends in <s> and </s>", ""), ("e\u0301t\u00e9", ""),
]
MODELS = {
    "xlm-roberta": (XLMRobertaConfig, XLMRobertaForSequenceClassification, XLMRobertaTokenizer,
                    ["<s>", "<pad>", "</s>", "<unk>"], dict(bos_token_id=0, eos_token_id=2)),
    "camembert": (CamembertConfig, CamembertForSequenceClassification, CamembertTokenizer,
                  ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"], dict(bos_token_id=5, eos_token_id=6)),
}


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "xlm"
    unigram = json.loads((HERE / "unigram_tiny" / "tokenizer.json").read_text())
    charsmap = base64.b64decode(unigram["normalizer"]["normalizers"][0]["precompiled_charsmap"])
    pieces = [tuple(p) for p in unigram["model"]["vocab"] if not p[0].startswith("<")][:PIECES]
    for name, (config, model, tokenizer, special, ids) in MODELS.items():
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        vocab = [(s, 0.0) for s in special] + pieces + [("<mask>", 0.0)]
        t = tokenizer(vocab=vocab, _spm_precompiled_charsmap=charsmap)
        torch.manual_seed(21)
        c = config(vocab_size=len(vocab), hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
                   max_position_embeddings=48, type_vocab_size=1, pad_token_id=1, num_labels=3, initializer_range=0.6,
                   layer_norm_eps=1e-5, **ids)
        m = model(c).eval()
        m.save_pretrained(folder)
        t.save_pretrained(folder)
        m = m.double()
        lines = []
        for a, b in ROWS:
            x = t(a, b or None, return_tensors="pt")
            with torch.no_grad():
                p = m(input_ids=x["input_ids"]).logits.softmax(-1)[0]
            lines.append(" ".join(map(str, x["input_ids"][0].tolist())) + "\t" + " ".join(f"{v:.9f}" for v in p.tolist()))
        (folder / "expected.tsv").write_text("\n".join(lines) + "\n")
        print(folder, sum(f.stat().st_size for f in folder.iterdir()), "bytes")
    (out / "rows.tsv").write_text("a\tb\n" + "".join(f"{a}\t{b}\n" for a, b in ROWS))


if __name__ == "__main__":
    main()
