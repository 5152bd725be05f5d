#!/usr/bin/env python3
"""What 50 steps of petri's training come to in PyTorch: writes tests/reference/train_parity.txt.

    PETRI_PARITY_DUMP=DIR build/tests/train/parity_test   writes petri's initial trainables and row order
    python tests/reference/train_parity.py DIR > tests/reference/train_parity.txt

MiniLM on SST-2 with dropout 0, AdamW without decay, gradients clipped at norm 1, a linear schedule without
warm-up.  A line a method: its text form, the accuracy on the official dev rows after the last step, the
loss of each step.
"""
import os
import re
import sys

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional as F
from transformers import BertModel

import sst2
from peft_modules import attach
from train_truth import METHODS, Classifier, accuracy

ORDER = ["lora", "adapter-pfeiffer", "mam", "bitfit", "full"]  # as parity_test.c numbers them
TEXT = {"lora": "lora(r=8)", "mam": "mam(l=16,r=16)"}
NAMES = [  # PyTorch's name: petri's
    (r"encoder\.layer\.(\d+)\.attention\.self\.query\.a", r"enc.\1.self/linear.q.W_d"),
    (r"encoder\.layer\.(\d+)\.attention\.self\.query\.b", r"enc.\1.self/linear.q.W_u"),
    (r"encoder\.layer\.(\d+)\.attention\.self\.value\.a", r"enc.\1.self/linear.v.W_d"),
    (r"encoder\.layer\.(\d+)\.attention\.self\.value\.b", r"enc.\1.self/linear.v.W_u"),
    (r"encoder\.layer\.(\d+)\.attention\.self\.prefix_key", r"enc.\1.self/softmax.head.P_k"),
    (r"encoder\.layer\.(\d+)\.attention\.self\.prefix_value", r"enc.\1.self/softmax.head.P_v"),
    (r"encoder\.layer\.(\d+)\.output\.adapter\.down\.weight", r"enc.\1.ffn/bottleneck.out.W_d"),
    (r"encoder\.layer\.(\d+)\.output\.adapter\.down\.bias", r"enc.\1.ffn/bottleneck.out.b_d"),
    (r"encoder\.layer\.(\d+)\.output\.adapter\.up\.weight", r"enc.\1.ffn/bottleneck.out.W_u"),
    (r"encoder\.layer\.(\d+)\.output\.adapter\.up\.bias", r"enc.\1.ffn/bottleneck.out.b_u"),
    (r"linear\.(weight|bias)", r"head.\1"),
]


def petri_name(name):
    for pattern, ours in NAMES:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, ours, name)
    return name


def start(net, trained, path):
    """Puts petri's values into the trained tensors; both sides must have the same ones."""
    place = {petri_name(name): p for name, p in trained.items()}
    tensors = {name[6:]: v for name, v in load_file(path).items() if name.startswith("param/")}
    if set(place) != set(tensors):
        sys.exit(f"{path}: other tensors: {sorted(set(place) ^ set(tensors))[:6]}")
    with torch.no_grad():
        for name, p in place.items():
            p.copy_(tensors[name].view_as(p))


def losses_of(net, parameters, lr, batches):
    optimiser = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0)
    losses = []
    net.train()
    for i, rows in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = lr * (1 - i / len(batches))
        ids, mask, labels = sst2.pad(rows)
        loss = F.cross_entropy(net(ids, mask), labels)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


def main():
    tokenizer = Tokenizer.from_file(os.path.join(sst2.MODEL, "tokenizer.json"))
    rows, dev = (sst2.read(n, tokenizer) for n in ("train.tsv", "dev_official.tsv"))
    for number, name in enumerate(ORDER):
        method, sizes, _, lr = METHODS[name]
        folder = os.path.join(sys.argv[1], str(number))
        with open(os.path.join(folder, "order.txt"), encoding="utf-8") as f:
            batches = [[rows[int(r)] for r in line.split()] for line in f]
        model = BertModel.from_pretrained(sst2.MODEL, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        trained = attach(model, method, **sizes)
        net = Classifier(model)
        trained.update((n, p) for n, p in net.named_parameters() if n.startswith("linear."))
        start(net, trained, os.path.join(folder, "last.safetensors"))
        losses = losses_of(net, list(trained.values()), lr, batches)
        text = TEXT.get(name, METHODS[name][2])
        print(" ".join([text, f"{accuracy(net, dev):.6f}"] + [f"{x:.7f}" for x in losses]), flush=True)


if __name__ == "__main__":
    main()
