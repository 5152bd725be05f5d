#!/usr/bin/env python3
"""Whether transformers opens a folder of petri pretrain and computes what petri does.

    check_masked.py PETRI FOLDER [TEXTS]
    check_masked.py --write FOLDER > tests/reference/petri-mini.tsv

PETRI: the program; FOLDER: what pretrain or export --to hf wrote of a run of masked words; TEXTS: a file with a text a line
(some are built in).  Of each text the ids, and of its masks (one is put in) the logarithms of the probabilities of petri's
50 likeliest words, are compared: "N texts: ids equal, largest difference X".  Exits with 1 where ids differ or X is 1e-4
or more.

The second form writes what transformers makes of the texts that are built in, a line a mask: text, ids, which mask, and of
the five likeliest tokens each with the logarithm of its probability.
"""
import json
import math
import subprocess
import sys

import torch
from transformers import AutoTokenizer, BertForMaskedLM

BUILT_IN = ["A [MASK] for editing images", "real-time [MASK] game, with CAF\u00c9 and na\u00efve words", "x[MASK]y, \u6f22\u5b57 and #hash",
            "library for [MASK] and [MASK] XML (documents)"]


def petri(program, *arguments):
    return json.loads(subprocess.run([program, *arguments, "--json"], check=True, capture_output=True, text=True).stdout)


def write(folder):
    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertForMaskedLM.from_pretrained(folder).float().eval()
    for text in BUILT_IN:
        ids = tokenizer(text)["input_ids"]
        with torch.no_grad():
            logs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        for k, place in enumerate(i for i, x in enumerate(ids) if x == tokenizer.mask_token_id):
            best = torch.topk(logs[place], 5)
            print(text, " ".join(map(str, ids)), k, *(f"{i} {v:.6f}" for i, v in zip(best.indices.tolist(), best.values.tolist())),
                  sep="\t")
    return 0


def main():
    if sys.argv[1] == "--write":
        return write(sys.argv[2])
    program, folder = sys.argv[1:3]
    texts = list(BUILT_IN)
    if len(sys.argv) > 3:
        for line in open(sys.argv[3], encoding="utf-8").read().splitlines()[:40]:
            words = line.split()
            texts.append(" ".join(["[MASK]"] + words[1:12]))
    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertForMaskedLM.from_pretrained(folder).float().eval()
    worst, same = 0.0, True
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        ours = petri(program, "encode", "--model", folder, "--text", text, "--tokens")
        if ours["ids"] != ids:
            print(f"{text}: ids {ours['ids']}, transformers {ids}")
            same = False
            continue
        with torch.no_grad():
            logs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        places = [i for i, x in enumerate(ids) if x == tokenizer.mask_token_id]
        masks = petri(program, "predict", "--model", folder, "--fill", text, "--top", "50")["masks"]
        assert len(masks) == len(places)
        for place, words in zip(places, masks):
            for word in words:
                theirs = logs[place, tokenizer.convert_tokens_to_ids(word["word"])].item()
                worst = max(worst, abs(theirs - math.log(word["probability"])))
    print(f"{folder}: {len(texts)} texts: ids {'equal' if same else 'DIFFER'}, largest difference {worst:.2g}")
    return 0 if same and worst < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
