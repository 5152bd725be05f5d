#!/usr/bin/env python3
"""Gradients through an inner loop in PyTorch, with create_graph, for tests/train/meta_truth.h.

    PETRI_PARITY_DUMP=DIR build/tests/train/meta_truth_dtest
    python tests/reference/meta_steps.py DIR        writes tests/reference/meta/

DIR/CASE.json, as the program writes it: how the inner loop goes, the tensors with who learns them and their start, and
an episode's rows as ids and labels.  tests/reference/meta/CASE.safetensors, F64: start/NAME, first/NAME and fd/NAME, the
gradients of the outer objective in first order (the inner gradients detached) and exact, and objective.
The model is tests/reference/bert-tiny without dropout, in 64 bits.
"""
import json
import math
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = os.path.join(ROOT, "tests", "reference", "bert-tiny")
OUT = os.path.join(ROOT, "tests", "reference", "meta")
HEADS, EPS = 4, 1e-12


class Bert:
    def __init__(self):
        prefix = "bert."
        self.base = {k[len(prefix):]: v.double() for k, v in load_file(os.path.join(MODEL, "model.safetensors")).items()
                     if k.startswith(prefix)}
        self.layers = 1 + max(int(k.split(".")[2]) for k in self.base if k.startswith("encoder.layer."))

    def weight(self, values, name):
        return values.get("bert." + name, values.get(name, self.base[name]))

    def linear(self, values, x, name):
        return F.linear(x, self.weight(values, name + ".weight"), self.weight(values, name + ".bias").reshape(-1))

    def norm(self, values, x, name):
        weight, bias = (self.weight(values, f"{name}.{w}").reshape(-1) for w in ("weight", "bias"))
        return F.layer_norm(x, x.shape[-1:], weight, bias, EPS)

    @staticmethod
    def adapters(values, x, place):
        for twin in ("", ".2", ".3"):
            at = f"{place}/bottleneck.out{twin}."
            if at + "W_d" in values:
                inner = F.gelu(F.linear(x, values[at + "W_d"], values[at + "b_d"].reshape(-1)))
                x = x + F.linear(inner, values[at + "W_u"], values[at + "b_u"].reshape(-1))
        return x

    def attention(self, values, x, at):
        n, d = x.shape
        q, k, v = (self.linear(values, x, f"{at}.attention.self.{w}").reshape(n, HEADS, d // HEADS).transpose(0, 1)
                   for w in ("query", "key", "value"))
        p = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d // HEADS), -1)
        return self.linear(values, (p @ v).transpose(0, 1).reshape(n, d), f"{at}.attention.output.dense")

    def pooled(self, values, ids):
        n = len(ids)
        x = (self.weight(values, "embeddings.word_embeddings.weight")[ids]
             + self.weight(values, "embeddings.position_embeddings.weight")[:n]
             + self.weight(values, "embeddings.token_type_embeddings.weight")[[0] * n])
        x = self.norm(values, x, "embeddings.LayerNorm")
        for i in range(self.layers):
            at = f"encoder.layer.{i}"
            y = self.adapters(values, self.attention(values, x, at), f"enc.{i}.self")
            x = self.norm(values, x + y, f"{at}.attention.output.LayerNorm")
            y = self.linear(values, F.gelu(self.linear(values, x, f"{at}.intermediate.dense")), f"{at}.output.dense")
            x = self.norm(values, x + self.adapters(values, y, f"enc.{i}.ffn"), f"{at}.output.LayerNorm")
        return torch.tanh(self.linear(values, x[:1], "pooler.dense"))[0]


def mapped(values, x, which):
    v = {k: values[f"head.{which}.{k}"] for k in ("W_1", "b_1", "W_2", "b_2")}
    return F.linear(torch.tanh(F.linear(x, v["W_1"], v["b_1"].reshape(-1))), v["W_2"], v["b_2"].reshape(-1))


def objective(case, bert, outer, first):
    """F of the values that the outer loop learns and the others."""
    rows, start, classes = case["rows"], case["start"], case["classes"]
    pooled = lambda values, batch: torch.stack([bert.pooled(values, r["ids"]) for r in rows[start[batch]:start[batch + 1]]])
    labels = lambda batch: torch.tensor([r["label"] for r in rows[start[batch]:start[batch + 1]]])

    def loss(values, vectors, batch):
        f = mapped(values, pooled(values, batch), "feature")
        return F.cross_entropy(f @ vectors[:, :-1].T + vectors[:, -1], labels(batch))

    rate = lambda i: outer["rates"].reshape(-1)[i] if case["learned"] else case["rate"]
    made, first_labels = mapped(outer, pooled(outer, 0), "label"), labels(0)
    vectors = torch.stack([made[first_labels == k].mean(0) for k in range(classes)])
    inner = {t["name"]: t["rate"] for t in case["tensors"] if t["inner"]}
    # Copies, so that an inner gradient does not go by way of the label vectors, which are values of their own.
    values, total, weights = {n: v.clone() for n, v in outer.items()}, 0, 0
    steps, query = case["inner"], case["batches"]
    for s in range(steps + 1):
        if s == steps or (case["every"] and s % case["every"] == 0):
            weight = 2.0 ** (s - steps)
            total, weights = total + weight * loss(values, vectors, query), weights + weight
        if s == steps:
            break
        names = list(inner)
        at = [values[n] for n in names] + [vectors]
        slope = torch.autograd.grad(loss(values, vectors, s + case["apart"]), at, create_graph=not first,
                                    retain_graph=True)
        slope = [g.detach() for g in slope] if first else slope
        clip = 1
        if case["clip"]:
            norm = math.sqrt(sum(float((g.detach() ** 2).sum()) for g in slope))
            clip = case["clip"] / (norm + 1e-6) if norm > case["clip"] else 1
        for n, g in zip(names, slope):
            values[n] = values[n] - rate(inner[n]) * clip * g
        vectors = vectors - rate(case["label_rate"]) * clip * slope[-1]
    return total / weights


def main():
    os.makedirs(OUT, exist_ok=True)
    bert = Bert()
    for file in sorted(os.listdir(sys.argv[1])):
        with open(os.path.join(sys.argv[1], file)) as f:
            case = json.load(f)
        learns = {t["name"] for t in case["tensors"] if t["outer"]}
        out = {}
        for t in case["tensors"]:
            out["start/" + t["name"]] = torch.tensor(t["values"], dtype=torch.float64).reshape(t["rows"], t["cols"])
        for way in ("first", "fd"):
            outer = {n[6:]: v.clone() for n, v in out.items() if n.startswith("start/")}
            for v in outer.values():
                v.requires_grad_(True)
            total = objective(case, bert, outer, way == "first")
            names = sorted(learns)
            grads = torch.autograd.grad(total, [outer[n] for n in names], allow_unused=True)
            out["objective"] = total.detach().reshape(1)
            for n, g in zip(names, grads):
                g = torch.zeros_like(outer[n]) if g is None else g
                out[f"{way}/{n}"] = g.detach().reshape(out["start/" + n].shape).clone()
        save_file(out, os.path.join(OUT, file.replace(".json", ".safetensors")))
        print(file, float(out["objective"]))


if __name__ == "__main__":
    main()
