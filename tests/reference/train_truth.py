#!/usr/bin/env python3
"""How well each method trains, by PyTorch: MiniLM on SST-2 with dropout as published.

3 epochs, batch 32, at most 128 tokens, AdamW without decay, gradients clipped at norm 1, a linear
schedule without warm-up.  Prints one JSON line a (method, seed) and appends it to --out; pairs that
are there already are not run again, so an interrupted run goes on where it was.

    python tests/reference/train_truth.py --out truth.jsonl [--methods lora,mam] [--seeds 1,2,3]
"""
import argparse
import json
import os
import time

import torch
from tokenizers import Tokenizer
from torch.nn import functional as F
from transformers import BertModel

import sst2
from peft_modules import attach

# name in this table: method, its sizes, petri's text form, learning rate
METHODS = {
    "lora": ("lora", {"r": 8, "s": 2.0}, "lora(r=8,s=2)", 3e-3),
    "adapter-pfeiffer": ("adapter-pfeiffer", {"r": 48}, "adapter-pfeiffer(r=48)", 3e-3),
    "mam": ("mam", {"l": 16, "r": 16, "s": 2.0}, "mam(l=16,r=16,s=2)", 1e-3),
    "bitfit": ("bitfit", {}, "bitfit", 5e-3),
    "full": ("full", {}, "full", 1e-4),
    "lora-s1": ("lora", {"r": 8, "s": 1.0}, "lora(r=8,s=1)", 3e-3),
    "head": ("head", {}, "head", 5e-3),
    # as the library PEFT makes them
    "peft-lora": ("peft", {"config": lambda p: p.LoraConfig(r=8, lora_alpha=16, target_modules=["query", "value"])}, "lora(r=8,s=2)", 3e-3),
    "peft-dora": ("peft", {"config": lambda p: p.LoraConfig(r=8, lora_alpha=16, target_modules=["query", "value"], use_dora=True)},
                  "dora(r=8,s=2)", 3e-3),
    "peft-ia3": ("peft", {"config": lambda p: p.IA3Config(target_modules=["key", "value", "output.dense"],
                                                          feedforward_modules=["output.dense"])}, "ia3(peft)", 3e-2),
    "peft-ln-tuning": ("peft", {"config": lambda p: p.LNTuningConfig(target_modules=["LayerNorm"])}, "ln-tuning", 3e-3),
}


def attached(model, method, sizes):
    """The trained tensors by name, the head's apart."""
    if method != "peft":
        return attach(model, method, **sizes)
    import peft
    peft.inject_adapter_in_model(sizes["config"](peft), model)
    return {n: p for n, p in model.named_parameters() if p.requires_grad}


class Classifier(torch.nn.Module):
    """Dropout and a linear map on the pooler's output, as transformers has it."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.dropout = torch.nn.Dropout(model.config.hidden_dropout_prob)
        self.linear = torch.nn.Linear(model.config.hidden_size, 2)
        torch.nn.init.normal_(self.linear.weight, std=0.02)
        torch.nn.init.zeros_(self.linear.bias)

    def forward(self, ids, mask):
        return self.linear(self.dropout(self.model(input_ids=ids, attention_mask=mask).pooler_output))


def accuracy(net, rows):
    net.eval()
    rows = sorted(rows, key=lambda r: len(r[0]))
    right = 0
    with torch.no_grad():
        for i in range(0, len(rows), 32):
            ids, mask, labels = sst2.pad(rows[i:i + 32])
            right += int((net(ids, mask).argmax(-1) == labels).sum())
    return right / len(rows)


def step_gradients(net, rows, group):
    """The mean loss of a batch; rows of like length go together, which only saves padding."""
    total = 0.0
    rows = sorted(rows, key=lambda r: len(r[0]))
    for i in range(0, len(rows), group):
        ids, mask, labels = sst2.pad(rows[i:i + group])
        loss = F.cross_entropy(net(ids, mask), labels, reduction="sum") / len(rows)
        loss.backward()
        total += float(loss.detach())
    return total


def train(name, seed, args, rows, dev):
    method, sizes, text, lr = METHODS[name]
    torch.manual_seed(seed)
    model = BertModel.from_pretrained(args.model)
    trained = attached(model, method, sizes)
    net = Classifier(model)
    parameters = [p for p in net.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0, fused=True)
    steps_epoch = -(-len(rows) // args.batch)
    steps = args.steps or steps_epoch * args.epochs
    epochs = -(-steps // steps_epoch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda t: (steps - t) / steps)
    order = torch.Generator().manual_seed(seed)
    result = {"name": name, "method": text, "seed": seed, "lr": lr, "epochs": args.epochs, "steps": args.steps,
              "batch": args.batch, "max_len": args.max_len, "clip": args.clip, "rows": len(rows),
              "trained": sum(p.numel() for p in trained.values()), "dev_accuracy": [], "loss": []}
    start = time.perf_counter()
    for _ in range(epochs):
        net.train()
        shuffled = [rows[i] for i in torch.randperm(len(rows), generator=order)]
        total = 0.0
        for at in range(0, len(rows), args.batch):
            total += step_gradients(net, shuffled[at:at + args.batch], args.group)
            torch.nn.utils.clip_grad_norm_(parameters, args.clip)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            schedule.step()
            if args.steps and schedule.last_epoch >= args.steps:
                break
            if args.max_steps and schedule.last_epoch >= args.max_steps:
                return {"seconds_a_step": (time.perf_counter() - start) / args.max_steps, **result}
        result["loss"].append(round(total / steps_epoch, 6))
        result["dev_accuracy"].append(round(accuracy(net, dev), 6))
    result["seconds"] = round(time.perf_counter() - start, 1)
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--methods", default="lora,adapter-pfeiffer,mam,bitfit,full")
    p.add_argument("--seeds", default="1,2,3")
    p.add_argument("--model", default=sst2.MODEL)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--steps", type=int, default=0, help="so many in place of epochs")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--group", type=int, default=8, help="rows of like length that are padded together")
    p.add_argument("--max-length", dest="max_len", type=int, default=128)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--max-steps", type=int, default=0, help="only time this many steps; writes nothing")
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    tokenizer = Tokenizer.from_file(os.path.join(args.model, "tokenizer.json"))
    rows, dev = (sst2.read(n, tokenizer, args.max_len) for n in ("train.tsv", "dev_official.tsv"))
    done = set()
    if os.path.exists(args.out):
        with open(args.out, encoding="utf-8") as f:
            done = {(r["name"], r["seed"]) for r in map(json.loads, f)}
    for seed in map(int, args.seeds.split(",")):
        for name in args.methods.split(","):
            if (name, seed) in done:
                continue
            line = json.dumps(train(name, seed, args, rows, dev))
            print(line, flush=True)
            if not args.max_steps:
                with open(args.out, "a", encoding="utf-8") as f:
                    f.write(line + "\n")


if __name__ == "__main__":
    main()
