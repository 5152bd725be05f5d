#!/usr/bin/env python3
"""Runs whose weights networks make, in PyTorch, written from the formulas.

    PETRI_PARITY_DUMP=DIR build/tests/train/generators_dtest
    python tests/reference/hyper_steps.py DIR [CASE…]     writes tests/reference/hyper/

A folder of DIR is a case as mixed_steps.py reads it; the method comes with it in petri's JSON form.  With task
embeddings z, layer embeddings e and place embeddings q (a place: one kind of sublayer that has a made module,
self-attention before the FFN; sizes of 0: no such embedding)

  I(t, l, p) = LN(W_2 relu(W_1 [z_t; e_l; q_p] + b_1) + b_2)     eps 1e-6; HyperFormer: without LN
  vec(slot)  = A_slot I + a_slot     a head a slot and stack, or (HyperFormer) also a layer and place

or of each row i, with h_i the mean of its tokens behind the encoder

  g_i = V_2 relu(V_1 h_i + c_1) + c_2,  I(i, l) = relu(W_1 [g_i; e_l] + b_1)     HyperDecoder

  HyperFormer(++)   y + LN(W_u gelu(W_d y + b_d) + b_u)·γ + β with y what self-attention or the FFN gives; all
                    of γ, β, W and b made; the model's own norms are trained besides
  PHA               y + W_u relu(W_d x + b_d) + b_u with y what the FFN gives and x what it reads: made in the decoder,
                    one for all tasks in the encoder
  HyperDecoder      the same with x before the FFN's norm
  HyperPrompt       keys [P_k; K] and values [P_v; V] of the encoder's self-attention, seen by every query and without a
                    relative bias: P_k = relu(P_t D_k^T) U_k^T of the task's prompt P_t, P_v likewise; D and U of each
                    layer (share), of each layer and task (sep), or made from I without biases (global); the model's
                    norms are trained besides
  retriever         z = W_2 relu(W_1 h + b_1) + b_2 (without a hidden layer W_2 h + b_2), h the mean of a row's
                    tokens behind the encoder; its losses look across the batch, f the cosine:
    instance        mean over rows i with another of its task of −mean_p log(e^{f(z_i,z_p)/τ} / Σ e^{f(z_i,z_j)/τ}),
                    p such others, j all others (supcon) or those of other tasks (negatives)
    prototype       mean over rows of −(f(z_i,k_own)/τ − log Σ e^{f(z_i,k)/τ}), k the tasks' embeddings without
                    its own (decoupled) or all (softmax)

With an encoder alone PHA and HyperDecoder have what is of the encoder in its lower half and what is of the decoder in
its upper one, layers counted from 1 there, and h is of the lower half's last layer.

tests/reference/hyper/CASE.safetensors, F64: of ten steps loss, loss/TASK, loss.task, loss.instance, loss.prototype
(NaN where there is none); start/NAME, gradient/NAME of the first step before clipping, after/NAME past the last.  From
the values at the start, of the first step's rows: made/NAME of each task or, where rows enter, of each row; pooled,
their h; logits/TASK (of texts each target token's); texts/TASK (T5: three beams, five tokens at most, none twice, -1
behind the last).
"""
import math
import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from transformers.models.bert import modeling_bert
from transformers.models.t5 import modeling_t5

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
        self.by_row = about.get("instance", "none") != "none"

    def conditions(self, word, layer, at, h):
        """[(vectors of all tasks or of h's rows, their part of W_1)]"""
        value, about, pairs = self.trained, self.about, []
        if about["task"]:
            pairs.append((value["task"], value[f"{word}.W_1.task"]))
        if self.by_row:
            v = [value[f"{word}.instance.{k}"] for k in ("W_1", "b_1", "W_2", "b_2")]
            pairs.append((F.linear(torch.relu(F.linear(h, v[0], v[1])), v[2], v[3]), value[f"{word}.W_1.instance"]))
        for key, index in (("layer", layer), ("place", at)):
            if about[key]:
                e = value[f"{word}.{key}"].reshape(-1, about[key])[index]  # of one layer petri has a vector
                pairs.append((e.expand(len(pairs[0][0]), -1), value[f"{word}.W_1.{key}"]))
        return pairs

    def vector(self, word, layer, at, h):
        value, about = self.trained, self.about
        if not about["layer"] and not about["place"] and not self.by_row:
            word = "all"
        parts, maps = zip(*self.conditions(word, layer, at, h))
        out = torch.relu(F.linear(torch.cat(parts, 1), torch.cat(maps, 1), value.get(f"{word}.b_1")))
        if about["inner"]:
            out = F.linear(out, value[f"{word}.W_2"], value.get(f"{word}.b_2"))
        if about["norm"] == "no":
            return out
        return F.layer_norm(out, out.shape[-1:], value[f"{word}.norm.gamma"], value[f"{word}.norm.beta"], PROJECTION_EPS)

    def make(self, word, layer, at, slot, h):
        head = f"{word}.{layer}.{at}.{slot}" if self.about["net"] == "layer" else f"{word}.{slot}"
        return F.linear(self.vector(word, layer, at, h), self.trained[f"{head}.weight"], self.trained.get(f"{head}.bias"))


class Prompts:
    """P_k and P_v of one layer, tasks × l × what the heads have together; maps(slot): D_k … of all tasks, or of one
    that all have."""

    def __init__(self, module, prompts, maps, tasks):
        self.module, self.prompts, self.maps, self.tasks = module, prompts, maps, tasks

    def value(self, kind):
        p = self.prompts.reshape(self.tasks, self.module["size"], -1)
        down = self.maps(f"D_{kind}").reshape(-1, self.module["mid"], p.shape[-1])
        up = self.maps(f"U_{kind}").reshape(len(down), -1, self.module["mid"])
        return torch.relu(p @ down.transpose(1, 2)) @ up.transpose(1, 2)

    def of_rows(self, kind, like):
        value = self.value(kind)[Rows.task]
        value = value.expand(len(like), -1, -1)
        return value.reshape(len(like), value.shape[1], like.shape[1], -1).transpose(1, 2)


def attention(module, query, key, value, mask, scaling=1.0, position_bias=None, **_):
    """What transformers' plain attention computes, behind the prompts where the module has some."""
    added = 0 if mask is None else mask
    if position_bias is not None:
        added = added + position_bias
    prompts = getattr(module, "prompts", None)
    if prompts:
        before = prompts.of_rows("k", key)
        key, value = torch.cat([before, key], 2), torch.cat([prompts.of_rows("v", value), value], 2)
        if torch.is_tensor(added):
            added = F.pad(added, (before.shape[2], 0))
    weights = torch.softmax(query @ key.transpose(2, 3) * scaling + added, -1)
    return (weights @ value).transpose(1, 2), weights


class Adapter(nn.Module):
    """A sublayer's last map with a bottleneck behind it or, where `reads` is the map whose input it reads, beside it.
    value(slot): tasks × numbers, 1 × numbers, or, by row, rows × numbers."""

    def __init__(self, last, module, value, reads, by_row):
        super().__init__()
        self.last, self.module, self.value, self.by_row, self.read = last, module, value, by_row, None
        if reads is not None:
            reads.register_forward_pre_hook(self.keep)

    @property
    def weight(self):
        return self.last.weight

    def keep(self, _module, args):
        self.read = args[0]

    def of_rows(self, slot, rows, batch):
        value = self.value(slot)
        if self.by_row:  # a row's beams stand next to each other
            value = value.repeat_interleave(batch // len(value), 0)
        elif len(value) > 1:
            value = value[Rows.task]
        return value.reshape(len(value), rows, -1)

    def forward(self, x):
        y, batch = self.last(x), x.shape[0]
        read = self.read if self.module["insertion"] == "parallel" else y

        def of(slot, rows=1):
            return self.of_rows(slot, rows, batch)
        h = read @ of("W_d", self.module["size"]).transpose(1, 2) + of("b_d")
        h = ACTIVATION[self.module["activation"]](h)
        h = h @ of("W_u", y.shape[-1]).transpose(1, 2) + of("b_u")
        if self.module.get("norm") == "own":
            h = F.layer_norm(h, h.shape[-1:], eps=NORM_EPS) * of("gamma") + of("beta")
        return y + h


def sublayers(model):
    """[(path of a block's part, its last map's owner and name, {tap: the module that reads it})] that methods here
    write behind."""
    for path, module in list(model.named_modules()):
        if path.endswith("SelfAttention"):  # T5
            yield path, module, "o", {}
        elif hasattr(module, "DenseReluDense"):
            ffn = module.DenseReluDense
            yield path, ffn, "wo", {"f.in": ffn.wi, "f.res": module}
        elif path.endswith("attention.output"):  # BERT
            yield path, module, "dense", {}
        elif hasattr(module, "intermediate"):
            reads = module.intermediate.dense
            yield path + ".", module.output, "dense", {"f.in": reads, "f.res": reads}


class Case(mixed_steps.Case):
    def attach(self):
        method, model = self.about["method"], self.model
        self.modules = [m for m in method["modules"] if m["function"] == "bottleneck"]
        self.made, self.pooled = {}, {}
        self.generator = Generator(method.get("hyper", {}), self.take("hyper."))
        self.retriever = method.get("retriever")
        self.network = self.take("retriever.")
        self.taps = {part.get("tap", 0) for part in (method.get("hyper", {}), self.retriever or {})}
        for p in model.parameters():
            p.requires_grad_(False)
        for path, owner, last, reads in list(sublayers(model)):
            self.put(f".{path}.", owner, last, reads)
        for module in method["modules"]:
            if module["function"] == "softmax":
                self.prompt(module)
        if any(m["function"] == "full" for m in method["modules"]):
            self.train_norms()
        for tap in self.taps:
            at = model.encoder.layer[tap - 1] if tap else model.encoder
            at.register_forward_hook(lambda _m, _args, out, tap=tap: self.pool(tap, out))

    def pool(self, tap, out):
        hidden = out if torch.is_tensor(out) else out[0]
        self.pooled[tap] = (hidden * Rows.mask[..., None]).sum(1) / Rows.mask.sum(1, keepdim=True)

    def is_at(self, m, stack, layer):
        first, last = m["layers"]
        return m["stack"] in ("all", stack) and first <= layer + 1 <= (last or layer + 1)

    def put(self, path, owner, last, reads):
        word, layer, kind = place(path).split(".")
        stack, layer, tap = {"enc": "encoder", "dec": "decoder"}[word], int(layer), "f.out" if kind == "ffn" else "a.out"
        made = [m for m in self.modules if m["source"] == "hyper" and m["stack"] in ("all", stack)]
        places = [p for p in ("a.out", "f.out") if p in [m["write"] for m in made]]
        first = min((m["layers"][0] - 1 for m in made), default=0) if any(self.taps) else 0
        alike = [m for m in self.modules if m["write"] == tap and m["stack"] in ("all", stack)]
        for number, m in enumerate(alike, 1):
            if not self.is_at(m, stack, layer):
                continue
            name = f"{word}.{layer}.{kind}/bottleneck.out.{f'{number}.' if number > 1 else ''}"
            by_row = m["source"] == "hyper" and self.generator.by_row
            if m["source"] == "hyper":
                slots = SLOTS + (("gamma", "beta") if m.get("norm") == "own" else ())

                def value(slot, at=places.index(tap), from_first=layer - first):
                    h = self.pooled.get(self.generator.about.get("tap", 0))
                    return self.generator.make(word, from_first, at, slot, h)
                self.made |= {name + s: (value, s) for s in slots}
            else:
                free = self.take(name)

                def value(slot, free=free):
                    return free[slot].reshape(1, -1)
            setattr(owner, last, Adapter(getattr(owner, last), m, value, reads.get(m["read"]), by_row))

    def prompt(self, module):
        modeling_t5.eager_attention_forward = modeling_bert.eager_attention_forward = attention
        prompts = self.take("enc.all.self/softmax.head.")["P"]
        for path, part in self.model.named_modules():
            if not path.startswith("encoder.") or not path.endswith(("SelfAttention", "attention.self")):
                continue
            name = place(f".{path}.") + "/softmax.head."
            if module["source"] == "prompt-global":
                def maps(slot, layer=int(name.split(".")[1])):
                    return self.generator.make("enc", layer, 0, slot, None)
            else:
                maps = self.take(name).__getitem__
            part.prompts = Prompts(module, prompts, maps, len(self.tasks))
            for kind in "kv":
                self.made[f"{name}P_{kind}"] = (part.prompts.value, kind)

    def train_norms(self):
        for name in [n for n in self.trained if n.endswith(("orm.weight", "orm.bias"))]:
            owner, _, leaf = name.rpartition(".")
            setattr(self.model.get_submodule(owner), leaf, self.trained[name])
            self.used.add(name)

    # ---- a pass ----

    def outputs(self, rows):
        """What heads read, or the decoder's logits."""
        call = self.call([r[1] for r in rows], [r[0] for r in rows])
        if self.tasks[0]["outputs"]:
            return self.model(**call, token_type_ids=self.types(rows)).pooler_output
        return self.model(**call, labels=make_families.pad([r[2] for r in rows], -100)).logits

    def call(self, sources, tasks):
        Rows.task, Rows.mask = torch.tensor(tasks), make_families.pad([[1] * len(s) for s in sources], 0)
        return dict(input_ids=make_families.pad(sources, self.pad_id), attention_mask=Rows.mask)

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
        own = self.own_losses(self.outputs(rows), rows)
        task = sum(self.tasks[i]["weight"] * n / len(rows) * loss for i, (loss, n) in own.items())
        instance, prototype = self.across() if self.retriever else (None, None)
        self.terms.append([float(t.detach()) if self.retriever and t is not None else math.nan
                           for t in (task, instance, prototype)])
        total = task
        for term in (instance, prototype):
            if term is not None:
                total = total + self.retriever["weight"] * term
        return total, {i: loss for i, (loss, _) in own.items()}

    def across(self):
        about, net = self.retriever, self.network
        h = self.pooled[about.get("tap", 0)]
        if "W_1" in net:
            h = torch.relu(F.linear(h, net["W_1"], net["b_1"]))
        z = F.normalize(F.linear(h, net["W_2"], net["b_2"]) if net else h, dim=1)
        k = F.normalize(self.trained["hyper.task"], dim=1)
        return instance_loss(about, z, Rows.task), prototype_loss(about, z, k, Rows.task)

    # ---- what a fixture holds besides ----

    def at_start(self, out):
        rows = sorted(self.steps[0], key=lambda r: r[0])
        given = self.outputs(rows)
        out["pooled"] = self.pooled[self.generator.about.get("tap", 0)]
        for name, (value, slot) in self.made.items():
            out[f"made/{name}"] = value(slot).contiguous()
        for i, task in enumerate(self.tasks):
            mine = [k for k, r in enumerate(rows) if r[0] == i]
            if task["outputs"]:
                out[f"logits/{task['name']}"] = self.head(task, given[mine])
            else:
                out[f"logits/{task['name']}"] = torch.cat([given[k, :len(rows[k][2])] for k in mine])
                out[f"texts/{task['name']}"] = self.texts(i, [rows[k][1] for k in mine])

    def texts(self, task, sources):
        call = self.call(sources, [task])
        ids = self.model.generate(**call, num_beams=BEAMS, max_new_tokens=NEW_TOKENS, do_sample=False,
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
