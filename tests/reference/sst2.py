"""SST-2 rows and padded batches, shared by the reference scripts."""
import os

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(os.environ.get("PETRI_DATA", os.path.join(ROOT, "..", "shared", "data")), "glue", "SST-2")
MODEL = os.path.join(ROOT, "assets", "models", "all-MiniLM-L6-v2")


def read(name, tokenizer, max_len=128, form="{}"):
    """[(ids, label)] of a GLUE TSV, each sentence put into `form`; a line is a row, quotes mean nothing."""
    with open(os.path.join(DATA, name), encoding="utf-8") as f:
        lines = f.read().split("\n")[1:]
    pairs = [line.rsplit("\t", 1) for line in lines if line]
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_len)
    encoded = tokenizer.encode_batch([form.format(text) for text, _ in pairs])
    return [(e.ids, int(label)) for e, (_, label) in zip(encoded, pairs)]


def pad(rows):
    """A batch as transformers wants it: padded to its longest row, with a mask and labels."""
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, (row, _) in enumerate(rows):
        ids[i, :len(row)] = torch.tensor(row)
        mask[i, :len(row)] = 1
    return ids, mask, torch.tensor([label for _, label in rows])
