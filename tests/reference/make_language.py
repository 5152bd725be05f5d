#!/usr/bin/env python3
"""Losses of fine-tuning the tiny llama of make_causal.py, from PyTorch, transformers and PEFT.

    make_language.py     writes tests/reference/language/

  pairs.jsonl          prompts and completions of different lengths
  losses.safetensors   ids, types, lengths, labels: an example, as in llama/expected.safetensors; F64:
                            lora    that example, whose first 8 tokens are not targets: PEFT's LoRA (r 4, alpha 8, q_proj and v_proj) with B 0 and A as in
                                    a.0.q, a.0.v, a.1.q, a.1.v; AdamW, learning rate 0.01, weight decay 0.01
                            full    all weights on all pairs in each step: AdamW, learning rate 0.001, no decay
                            each    the summed loss of each pair before training

The loss is the mean over the targets of a step: of a pair, the completion and the end token.  Values are computed in
float64 by the restated model of make_causal.py.
"""
import json
import os

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerFast

import make_causal

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA = os.path.join(make_causal.FOLDER, "llama")
OUT = os.path.join(HERE, "language")
STEPS, END = 6, 2
NOTED = [6.55778, 6.17432, 5.80364, 5.47622, 5.18233, 4.92024]

PAIRS = [
    ("2 plus 3 is", " 5."), ("10 plus 7 is", " 17."), ("Say yes:", " yes"), ("Say it twice, please:", " it it"),
    ("a", "b"), ("Name a color.\nA:", " a dark shade of green"), ("café ½ is", " ½"), ("one two three", " four five six"),
    ("SELECT", " name FROM t"), ("x = 1;", "\nx = 2;"), ("", "no prompt"), ("what is 4?", " 4 is four"),
]


def model():
    m = make_causal.read(LLAMA)
    make_causal.restate(m)
    return m


def step_loss(m, rows):
    total, targets, each = 0, 0, []
    for ids, first in rows:
        logits = m(input_ids=torch.tensor([ids])).logits[0]
        loss = torch.nn.functional.cross_entropy(logits[first - 1:-1], torch.tensor(ids[first:]), reduction="sum")
        each.append(loss.item())
        total, targets = total + loss, targets + len(ids) - first
    return total / targets, each


def train(m, rows, **adamw):
    optimizer = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], **adamw)
    losses = []
    for _ in range(STEPS):
        loss, _ = step_loss(m, rows)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def lora():
    m = get_peft_model(model(), LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, lora_dropout=0.0))
    g = torch.Generator().manual_seed(21)
    a = {}
    with torch.no_grad():
        for name, p in m.named_parameters():
            if "lora_A" in name:
                p.copy_(0.2 * torch.randn(p.shape, generator=g))
                part = name.split(".")
                a[f"a.{part[part.index('layers') + 1]}.{'q' if 'q_proj' in name else 'v'}"] = p.detach().clone()
    example = {k: v for k, v in load_file(os.path.join(LLAMA, "expected.safetensors")).items()
               if k in ("ids", "types", "lengths", "labels")}
    rows = [(example["ids"].tolist(), 8)]
    return train(m.double(), rows, lr=0.01, weight_decay=0.01), a, example


def main():
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "pairs.jsonl"), "w") as f:
        for prompt, completion in PAIRS:
            f.write(json.dumps({"prompt": prompt, "completion": completion}, ensure_ascii=False) + "\n")
    t = PreTrainedTokenizerFast(tokenizer_file=os.path.join(LLAMA, "tokenizer.json"))
    rows = []
    for prompt, completion in PAIRS:
        p = t(prompt, add_special_tokens=False)["input_ids"]
        both = t(prompt + completion, add_special_tokens=False)["input_ids"]
        assert both[:len(p)] == p, prompt
        rows.append((both + [END], max(len(p), 1)))
    out, a, example = lora()
    if max(abs(x - y) for x, y in zip(out, NOTED)) > 2e-5:
        raise SystemExit(f"LoRA: {out}, not {NOTED}")
    m = model()
    for p in m.parameters():
        p.requires_grad_(True)
    _, each = step_loss(m, rows)
    full = train(m, rows, lr=1e-3, weight_decay=0.0)
    save = {"lora": out, "full": full, "each": each}
    save = {k: torch.tensor(v, dtype=torch.float64) for k, v in save.items()}
    save.update({k: v.double().contiguous() for k, v in a.items()}, **example)
    save_file(save, os.path.join(OUT, "losses.safetensors"))
    print("lora", out, "full", full)


if __name__ == "__main__":
    main()
