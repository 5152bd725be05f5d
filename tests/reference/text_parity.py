#!/usr/bin/env python3
"""What 20 steps of petri's training of every family come to in PyTorch: writes tests/reference/text_parity.txt.

    PETRI_PARITY_DUMP=DIR build/tests/train/text_parity_test   writes petri's initial trainables and rows
    python tests/reference/text_parity.py DIR > tests/reference/text_parity.txt

The tiny models of make_families.py, LoRA by the library peft and an adapter beside the FFN written out, in
float64: dropout 0, AdamW without decay, gradients clipped at norm 1, a linear schedule without warm-up.  A
line a case of text_parity_test.c, in its order: model, method, the loss of each step.
"""
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from make_families import FOLDER, pad
from make_peft import TASKS, load, petri_name, place

LR, BATCH, STEPS = 5e-3, 6, 20
ADAPTER = "parallel-adapter-ffn(r=4)"
CASES = [  # as text_parity_test.c has them
    ("t5-tiny", "lora(r=3)", "tokens", 0.0),
    ("t5-odd", "lora(r=3)", "rows", 0.1),
    ("t5-tiny", ADAPTER, "positions", 0.1),
    ("bart-tiny", "lora(r=3)", "tokens", 0.1),
    ("bart-tiny", ADAPTER, "sum", 0.0),
    ("mbart-odd", "lora(r=3)", "tokens", 0.0),
    ("roberta-tiny", "lora(r=3)", "tokens", 0.0),
]


class Beside(nn.Module):
    """The FFN's last map with relu(x·W_d + b_d)·W_u + b_u added, x being what its first map reads."""

    def __init__(self, first, last, values):
        super().__init__()
        self.last, self.read = last, None
        self.w_d, self.b_d, self.w_u, self.b_u = (nn.Parameter(v) for v in values)
        first.register_forward_pre_hook(self.keep)

    @property
    def weight(self):  # T5 looks at its type
        return self.last.weight

    def keep(self, module, args):
        self.read = args[0]

    def forward(self, x):
        return self.last(x) + F.linear(F.relu(F.linear(self.read, self.w_d, self.b_d)), self.w_u, self.b_u)


def with_lora(model, family, values):
    maps = {"roberta": ["query", "value"], "t5": ["q", "v"]}.get(family, ["q_proj", "v_proj"])
    tuned = get_peft_model(model, LoraConfig(task_type=TASKS[family], r=3, lora_alpha=6,
                                             target_modules=maps)).double()
    trained = {petri_name(n)[0]: p for n, p in tuned.named_parameters() if p.requires_grad}
    if set(trained) != set(values):
        sys.exit(f"other tensors: {sorted(set(trained) ^ set(values))[:6]}")
    with torch.no_grad():
        for name, p in trained.items():
            p.copy_(values[name].view_as(p))
    return tuned, list(trained.values())


def with_adapter(model, values):
    trained = []
    for p in model.parameters():
        p.requires_grad_(False)
    for path, module in list(model.named_modules()):
        for a, b in (("fc1", "fc2"), ("wi", "wo")):
            if not hasattr(module, b):
                continue
            at = f"{place('.' + path + '.')}/bottleneck.out."
            beside = Beside(getattr(module, a), getattr(module, b),
                            [values[at + n].clone() for n in ("W_d", "b_d", "W_u", "b_u")])
            setattr(module, b, beside)
            trained += [beside.w_d, beside.b_d, beside.w_u, beside.b_u]
    if len(trained) != len(values):
        sys.exit(f"{len(trained)} tensors, not {len(values)}")
    return model, trained


def read_rows(path):
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    return [([int(i) for i in s.split()], [int(i) for i in t.split()], int(label)) for s, t, label in lines]


def loss_of(model, rows, family, mean, smoothing):
    sources = [r[0] for r in rows]
    fill = model.config.pad_token_id
    call = dict(input_ids=pad(sources, fill), attention_mask=pad([[1] * len(s) for s in sources], 0))
    if family == "roberta":
        return F.cross_entropy(model(**call).logits, torch.tensor([r[2] for r in rows]))
    labels = pad([r[1] for r in rows], -100)
    log_p = F.log_softmax(model(**call, labels=labels).logits, -1)
    nll = -log_p.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    loss = (1 - smoothing) * nll - smoothing * log_p.mean(-1)
    loss = loss.masked_fill(labels < 0, 0)
    count = labels.ge(0).sum(-1)
    if mean == "rows":
        return (loss.sum(-1) / count).mean()
    return loss.sum() / {"tokens": count.sum(), "sum": 1, "positions": labels.numel()}[mean]


def main():
    for number, (name, method, mean, smoothing) in enumerate(CASES):
        folder = os.path.join(sys.argv[1], str(number))
        values = {n[6:]: v.double() for n, v in load_file(os.path.join(folder, "last.safetensors")).items()
                  if n.startswith("param/")}
        model, family = load(name)
        model, trained = with_adapter(model, values) if method == ADAPTER else with_lora(model, family, values)
        rows = read_rows(os.path.join(folder, "rows.tsv"))
        optimiser = torch.optim.AdamW(trained, lr=LR, weight_decay=0.0)
        losses = []
        for i in range(STEPS):
            for group in optimiser.param_groups:
                group["lr"] = LR * (1 - i / STEPS)
            loss = loss_of(model, rows[i * BATCH:(i + 1) * BATCH], family, mean, smoothing)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
            losses.append(float(loss.detach()))
        print(" ".join([name, method] + [f"{x:.7f}" for x in losses]), flush=True)


if __name__ == "__main__":
    main()
