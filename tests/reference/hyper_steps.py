#!/usr/bin/env python3
"""Runs whose weights networks make, in PyTorch, written from the formulas.

    PETRI_PARITY_DUMP=DIR build/tests/train/generators_dtest
    python tests/reference/hyper_steps.py DIR [CASE…]     writes tests/reference/hyper/

A folder of DIR is a case as mixed_steps.py reads it; the method comes with it in petri's JSON form.  With task
embeddings z, layer embeddings e and place embeddings q (a place: one kind of sublayer that has a made module,
self-attention before the FFN; sizes of 0: no such embedding)

  I(t, l, p) = LN(W_2 relu(W_1 [z_t; e_l; q_p] + b_1) + b_2)     eps 1e-6; HyperFormer: without LN
  vec(slot)  = A_slot I + a_slot     a head a slot and stack, or (HyperFormer) also a layer and place

  HyperFormer(++)   y + LN(W_u gelu(W_d y + b_d) + b_u)·γ + β with y what self-attention or the FFN gives; all
                    of γ, β, W and b made; the model's own norms are trained besides
  PHA               y + W_u relu(W_d x + b_d) + b_u with y what the FFN gives and x what it reads: made in the decoder,
                    one for all tasks in the encoder
  retriever         z = W_2 relu(W_1 h + b_1) + b_2 (without a hidden layer W_2 h + b_2), h the mean of a row's
                    tokens behind the encoder; its losses look across the batch, f the cosine:
    instance        mean over rows i with another of its task of −mean_p log(e^{f(z_i,z_p)/τ} / Σ e^{f(z_i,z_j)/τ}),
                    p those others, j all others (supcon) or those of other tasks (negatives)
    prototype       mean over rows of −(f(z_i,k_own)/τ − log Σ e^{f(z_i,k)/τ}), k the tasks' embeddings without
                    its own (decoupled) or all (softmax)

tests/reference/hyper/CASE.safetensors, F64: of ten steps loss, loss/TASK, loss.task, loss.instance, loss.prototype
(NaN where there is none); start/NAME, gradient/NAME of the first step before clipping, after/NAME past the last;
made/NAME, logits/TASK of the first step's rows (of texts each target token's) and texts/TASK (T5: three beams, five
tokens at most, none twice, -1 behind the last) from the values at the start.
"""
import math
import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

import make_families
import mixed_steps
from mixed_steps import NORM_EPS, ROOT, Rows
from make_peft import place

OUT = os.path.join(ROOT, "tests", "reference", "hyper")
STEPS, BEAMS, NEW_TOKENS, PROJECTION_EPS = 10, 3, 5, 1e-6
ACTIVATION = {"relu": torch.relu, "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}
SLOTS = ("W_d", "b_d", "W_u", "b_u")


class Generator:
    """I and the heads; trained: {name behind "hyper.": value}."""

    def __init__(self, about, trained):
        self.about, self.trained = about, trained

    def vector(self, word, layer, at):
        """I of all tasks, tasks × inner."""
        value, about = self.trained, self.about
        if not about["layer"] and not about["place"]:
            word = "all"
        tasks = value["task"].shape[0]
        parts, maps = [value["task"]], [value[f"{word}.W_1.task"]]
        for key, index in (("layer", layer), ("place", at)):
            if about[key]:
                parts.append(value[f"{word}.{key}"][index].expand(tasks, -1))
                maps.append(value[f"{word}.W_1.{key}"])
        hidden = torch.relu(F.linear(torch.cat(parts, 1), torch.cat(maps, 1), value[f"{word}.b_1"]))
        out = F.linear(hidden, value[f"{word}.W_2"], value[f"{word}.b_2"])
        if about["norm"] == "no":
            return out
        return F.layer_norm(out, out.shape[-1:], value[f"{word}.norm.gamma"], value[f"{word}.norm.beta"], PROJECTION_EPS)

    def make(self, word, layer, at, slot):
        head = f"{word}.{layer}.{at}.{slot}" if self.about["net"] == "layer" else f"{word}.{slot}"
        return F.linear(self.vector(word, layer, at), self.trained[f"{head}.weight"], self.trained[f"{head}.bias"])


class Adapter(nn.Module):
    """A sublayer's last map with a bottleneck behind it or, where `reads` is the map whose input it reads, beside it.
    value(slot): tasks × numbers, or 1 × numbers."""

    def __init__(self, last, module, value, reads):
        super().__init__()
        self.last, self.module, self.value, self.read = last, module, value, None
        if reads is not None:
            reads.register_forward_pre_hook(self.keep)

    @property
    def weight(self):
        return self.last.weight

    def keep(self, _module, args):
        self.read = args[0]

    def of_rows(self, slot, rows):
        value = self.value(slot)
        value = value[Rows.task] if len(value) > 1 else value
        return value.reshape(len(value), rows, -1)

    def forward(self, x):
        y, size = self.last(x), self.module["size"]
        read = self.read if self.module["insertion"] == "parallel" else y
        h = read @ self.of_rows("W_d", size).transpose(1, 2) + self.of_rows("b_d", 1)
        h = ACTIVATION[self.module["activation"]](h)
        h = h @ self.of_rows("W_u", y.shape[-1]).transpose(1, 2) + self.of_rows("b_u", 1)
        if self.module.get("norm") == "own":
            h = F.layer_norm(h, h.shape[-1:], eps=NORM_EPS) * self.of_rows("gamma", 1) + self.of_rows("beta", 1)
        return y + h


def sublayers(model):
    """[(path of a block's part, its last map's owner and name, the first map)] that methods here write behind."""
    for path, module in list(model.named_modules()):
        if path.endswith("SelfAttention"):  # T5
            yield path, module, "o", module.q
        elif hasattr(module, "wo"):
            yield path, module, "wo", module.wi
        elif path.endswith("attention.output"):  # BERT
            yield path, module, "dense", None
        elif hasattr(module, "intermediate"):
            yield path + ".", module.output, "dense", module.intermediate.dense


class Case(mixed_steps.Case):
    def attach(self):
        method, model = self.about["method"], self.model
        self.modules = [m for m in method["modules"] if m["function"] == "bottleneck"]
        self.adapters, self.made = [], {}
        self.generator = Generator(method["hyper"], self.take("hyper."))
        self.retriever, self.joined = method.get("retriever"), None
        self.network = self.take("retriever.")
        for p in model.parameters():
            p.requires_grad_(False)
        for path, owner, last, first in list(sublayers(model)):
            self.put(f".{path}.", owner, last, first)
        for m in method["modules"]:
            if m["function"] == "full":
                self.train_norms()

    def put(self, path, owner, last, first):
        stack, layer, kind = place(path).split(".")
        tap = "f.out" if kind == "ffn" else "a.out"
        whole = {"enc": "encoder", "dec": "decoder"}[stack]
        places = [m["write"] for m in self.modules if m["source"] == "hyper" and m["stack"] in ("all", whole)]
        places = [p for p in ("a.out", "f.out") if p in places]
        for m in self.modules:
            if m["write"] != tap or m["stack"] not in ("all", whole):
                continue
            name = f"{stack}.{layer}.{kind}/bottleneck.out."
            if m["source"] == "hyper":
                slots = SLOTS + (("gamma", "beta") if m.get("norm") == "own" else ())

                def value(slot, at=places.index(tap)):
                    return self.generator.make(stack, int(layer), at, slot)
                self.made |= {name + s: (value, s) for s in slots}
            else:
                free = self.take(name)

                def value(slot):
                    return free[slot].reshape(1, -1)
            setattr(owner, last, Adapter(getattr(owner, last), m, value, first if m["insertion"] == "parallel" else None))

    def train_norms(self):
        for name in [n for n in self.trained if n.endswith(("orm.weight", "orm.bias"))]:
            owner, _, leaf = name.rpartition(".")
            setattr(self.model.get_submodule(owner), leaf, self.trained[name])
            self.used.add(name)

    # ---- a pass ----

    def outputs(self, rows):
        """What heads read, or the decoder's logits; and the encoder's vectors with the mask."""
        sources, pad = [r[1] for r in rows], make_families.pad
        Rows.task = torch.tensor([r[0] for r in rows])
        mask = pad([[1] * len(s) for s in sources], 0)
        call = dict(input_ids=pad(sources, self.pad_id), attention_mask=mask)
        if self.tasks[0]["outputs"]:
            out = self.model(**call, token_type_ids=self.types(rows))
            return out.pooler_output, out.last_hidden_state, mask
        out = self.model(**call, labels=pad([r[2] for r in rows], -100))
        return out.logits, out.encoder_last_hidden_state, mask

    def head(self, task, read):
        name = task["name"]
        return F.linear(read, self.trained[f"{name}/head.weight"].reshape(task["outputs"], -1),
                        self.trained[f"{name}/head.bias"])

    def own_losses(self, out, rows):
        """{task's number: (its rows' loss, how many rows)}"""
        own = {}
        if not self.tasks[0]["outputs"]:
            labels = make_families.pad([r[2] for r in rows], -100)
            log_p = F.log_softmax(out, -1)
            out = -log_p.gather(-1, labels.clamp(min=0)[..., None])[..., 0].masked_fill(labels < 0, 0)
        for i, task in enumerate(self.tasks):
            mine = [k for k, r in enumerate(rows) if r[0] == i]
            if not mine:
                continue
            if not task["outputs"]:
                loss = out[mine].sum() / sum(len(rows[k][2]) for k in mine)
            else:
                given, gold = self.head(task, out[mine]), torch.tensor([rows[k][3] for k in mine])
                loss = F.mse_loss(given[:, 0], gold.to(given.dtype)) if task["outputs"] == 1 else \
                    F.cross_entropy(given, gold.long())
            own[i] = (loss, len(mine))
        return own

    def losses(self, rows):
        out, hidden, mask = self.outputs(rows)
        own = self.own_losses(out, rows)
        task = sum(self.tasks[i]["weight"] * n / len(rows) * loss for i, (loss, n) in own.items())
        instance, prototype = self.across(hidden, mask) if self.retriever else (None, None)
        self.terms.append([float(t.detach()) if self.retriever and t is not None else math.nan
                           for t in (task, instance, prototype)])
        total = task
        for term in (instance, prototype):
            if term is not None:
                total = total + self.retriever["weight"] * term
        return total, {i: loss for i, (loss, _) in own.items()}

    def across(self, hidden, mask):
        about, net = self.retriever, self.network
        h = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        if "W_1" in net:
            h = torch.relu(F.linear(h, net["W_1"], net["b_1"]))
        z = F.normalize(F.linear(h, net["W_2"], net["b_2"]) if net else h, dim=1)
        k = F.normalize(self.trained["hyper.task"], dim=1)
        return instance_loss(about, z, Rows.task), prototype_loss(about, z, k, Rows.task)

    # ---- what a fixture holds besides ----

    def at_start(self, out):
        rows = sorted(self.steps[0], key=lambda r: r[0])
        for name, (value, slot) in self.made.items():
            out[f"made/{name}"] = value(slot).contiguous()
        given, _, _ = self.outputs(rows)
        for i, task in enumerate(self.tasks):
            mine = [k for k, r in enumerate(rows) if r[0] == i]
            if task["outputs"]:
                out[f"logits/{task['name']}"] = self.head(task, given[mine])
            else:
                out[f"logits/{task['name']}"] = torch.cat([given[k, :len(rows[k][2])] for k in mine])
                out[f"texts/{task['name']}"] = self.texts(i, [rows[k][1] for k in mine])

    def texts(self, task, sources):
        Rows.task = torch.tensor([task])
        ids = self.model.generate(
            input_ids=make_families.pad(sources, self.pad_id), num_beams=BEAMS, max_new_tokens=NEW_TOKENS,
            attention_mask=make_families.pad([[1] * len(s) for s in sources], 0), do_sample=False,
            no_repeat_ngram_size=1)[:, 1:]  # or a tiny model says one word
        out = torch.full((len(sources), NEW_TOKENS), -1.0, dtype=torch.float64)
        for i, row in enumerate(ids.tolist()):
            row = row[:row.index(self.model.config.eos_token_id) + 1] if self.model.config.eos_token_id in row else row
            out[i, :len(row)] = torch.tensor(row, dtype=torch.float64)
        return out


def instance_loss(about, z, task):
    if about["instance"] == "none":
        return None
    f = z @ z.T / about["temperature"]
    terms = []
    for i, mine in enumerate(task.tolist()):
        others = [j for j in range(len(task)) if j != i]
        positive = [j for j in others if task[j] == mine]
        below = others if about["instance"] == "supcon" else [j for j in others if task[j] != mine]
        if positive and below:
            terms.append(-(f[i, positive] - torch.logsumexp(f[i, below], 0)).mean())
    return torch.stack(terms).mean() if terms else z.new_zeros(())


def prototype_loss(about, z, k, task):
    if about["prototype"] == "none":
        return None
    f = z @ k.T / about["temperature"]
    own = F.one_hot(task, len(k)).bool()
    below = f if about["prototype"] == "softmax" else f.masked_fill(own, -math.inf)
    return (torch.logsumexp(below, 1) - f[own]).mean()


def make_fixture(folder, name):
    case = Case(os.path.join(folder, name), torch.float64)
    case.terms, out = [], {}
    with torch.no_grad():
        case.at_start(out)
    losses, own, gradient = case.train()
    out["loss"] = torch.tensor(losses, dtype=torch.float64)
    for task, values in zip(case.tasks, own):
        out[f"loss/{task['name']}"] = torch.tensor(values, dtype=torch.float64)
    for term, values in zip(("loss.task", "loss.instance", "loss.prototype"), zip(*case.terms)):
        out[term] = torch.tensor(values, dtype=torch.float64)
    for n, p in case.trained.items():
        out[f"start/{n}"], out[f"gradient/{n}"], out[f"after/{n}"] = case.start[n], gradient[n], p.detach().clone()
    os.makedirs(OUT, exist_ok=True)
    save_file({n: v.contiguous() for n, v in out.items()}, os.path.join(OUT, f"{name}.safetensors"))
    print(name, *(f"{x:.9f}" for x in losses))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, wanted = sys.argv[1], sys.argv[2:]
    for name in sorted(os.listdir(folder)):
        if os.path.exists(os.path.join(folder, name, "case.json")) and (not wanted or name in wanted):
            make_fixture(folder, name)


if __name__ == "__main__":
    main()
