#!/usr/bin/env python3
"""Expected values of tiny models tuned by methods that no library has, re-stated in PyTorch.

    make_restated.py [METHOD…]     writes tests/reference/tuned/METHOD.MODEL.safetensors

The files are as make_tuned.py writes them.  The gates' noise is petri's: numbers of a counter, in numpy here.

  attempt      ATTEMPT over two prompts that are held still and one that is trained, T 2, width 4
  distil       MPT of one task (P * u v, rank 1) taught by a prompt with a head of its own: the loss has 0.7 times the divergence from the
               teacher's answers, the mean over rows (over target tokens), and 0.9 times the mean squared distance of the last layer's
               states (of BERT's encoder, with the prompt's rows; of T5's decoder)
  diff         diff pruning while its mask is learned (masked, structured by tensor): W = W0 + z_ij z w with hard-concrete gates,
               noise of seed 3, step 5; to each step's gradient that of 0.01 times the expected number of open gates is added,
               whose own value at the start is `expected`
"""
import os
import sys

import numpy as np
import torch
from safetensors.torch import save_file

from make_tuned import OUT, STEPS, call_of, folder_of, load

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
DROPOUT, SEED, STEP = 3, 3, 5


# ---- petri's numbers ----

def mix(z):
    z = np.asarray(z, np.uint64)
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def site(name):
    h = 0xCBF29CE484222325
    for c in name.encode():
        h = ((h ^ c) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return mix(np.uint64(h))


def key(seed, purpose, step, at):
    with np.errstate(over="ignore"):
        k = mix(np.uint64(seed) + GOLDEN)
        k = mix(k ^ (np.uint64(purpose) * GOLDEN))
        k = mix(k + np.uint64(step) * GOLDEN)
        return mix(k ^ mix(at + GOLDEN))


def uniform(k, first, count):
    n = np.arange(first, first + count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        bits = mix(mix(k + n * GOLDEN) ^ k)
    return torch.from_numpy((bits >> np.uint64(11)).astype(np.float64) * 2.0 ** -53)


# ---- diff pruning ----

def gate(alpha, noise):
    u = noise.clamp(1e-4, 0.9999).reshape(alpha.shape)
    s = torch.sigmoid(torch.log(u) - torch.log(1 - u) + alpha)
    return torch.clamp(3 * s - 1.5, 0, 1)


class Masked:
    """The output of each FFN's first map, weights and bias."""
    def __init__(self, model, family):
        last = "intermediate.dense" if family == "bert" else "wi_0", "wi_1"
        self.base = {n: p.detach() for n, p in model.named_parameters() if n.rsplit(".", 1)[0].endswith(last)}
        self.trained = {}
        for n, p in self.base.items():
            ours = n.removeprefix("bert.")
            self.trained[ours + ".w"] = 0.3 * torch.randn_like(p)
            self.trained[ours + ".alpha"] = torch.randn_like(p) + 0.5
            self.trained[ours + ".group"] = torch.full((1, 1), 0.7, dtype=p.dtype)
        self.matrices = [n for n in self.trained if n.endswith("weight.w")]

    def weights(self, noisy):
        out = {}
        for n, base in self.base.items():
            ours = n.removeprefix("bert.")
            w, alpha, group = (self.trained[f"{ours}.{k}"] for k in ("w", "alpha", "group"))
            noise = uniform(key(SEED, DROPOUT, STEP, site(ours + ".alpha")), 0, w.numel() + 1)
            half = torch.full_like(noise, 0.5)
            noise = noise if noisy else half
            out[n] = base + gate(alpha, noise[:-1]) * gate(group, noise[-1:]) * w
        return out

    def term(self):
        return sum(torch.sigmoid(self.trained[n[:-5] + "group"]).sum() * torch.sigmoid(p).sum()
                   for n, p in self.trained.items() if n.endswith("alpha"))


def run(model, call, family, weights):
    given = dict(call)
    labels = given.pop("labels")
    logits = torch.func.functional_call(model, weights, (), given).logits
    if family not in ("bert", "roberta"):
        kept = labels.ge(0)
        logits, labels = logits[kept], labels[kept]
    return logits, torch.nn.functional.cross_entropy(logits, labels)


def diff(name):
    model, family = load(name)
    for p in model.parameters():
        p.requires_grad_(False)
    torch.manual_seed(8)
    masked, call = Masked(model, family), call_of(model, family, folder_of(name))
    head = {n: p for n, p in model.named_parameters() if n.startswith("classifier.")}
    values = masked.trained | {n.replace("classifier", "head"): p for n, p in head.items()}
    for p in values.values():
        p.requires_grad_(True)
    with torch.no_grad():
        logits = run(model, call, family, masked.weights(False))[0]
    loss = run(model, call, family, masked.weights(True))[1]
    loss.backward()
    out = {"logits": logits, "loss": loss.detach().reshape(1), "expected": masked.term().detach().reshape(1)}
    for n, p in values.items():
        for kind, value in (("value", p), ("grad", p.grad)):
            out[f"{kind}.{n}"] = value.detach().reshape(1, -1).clone() if p.dim() == 1 else value.detach().clone()
    decayed = [p for n, p in values.items() if n in masked.matrices or n == "head.weight"]
    rest = [p for n, p in values.items() if not (n in masked.matrices or n == "head.weight")]
    optimiser = torch.optim.AdamW([dict(params=decayed, weight_decay=0.01), dict(params=rest, weight_decay=0.0)], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = run(model, call, family, masked.weights(True))[1]
        losses.append(loss.item())
        (loss + 0.01 * masked.term()).backward()
        optimiser.step()
    out["adamw"] = torch.tensor(losses, dtype=torch.float64)
    return out


# ---- ATTEMPT ----

class Attempt:
    """Prompts of three rows: two held still, one that is trained, and the attention that mixes them for each row."""
    def __init__(self, width):
        draw = lambda *shape: 0.5 * torch.randn(*shape, dtype=torch.float64)
        self.still = [draw(3, width) for _ in range(2)]
        self.own, self.down, self.up = draw(3, width), draw(4, width), draw(width, 4)
        self.gamma, self.beta = 1 + draw(width), draw(width)
        self.trained = {"enc.embed/prompt.3.P": self.own, "attempt.W_d": self.down, "attempt.W_u": self.up,
                        "attempt.norm.weight": self.gamma, "attempt.norm.bias": self.beta}

    def rows(self, words):
        """The prompt of one text."""
        x = words.max(0).values
        h = torch.nn.functional.silu(x @ self.down.T) @ self.up.T
        h = torch.nn.functional.layer_norm(h, h.shape, self.gamma, self.beta, 1e-5)
        all = [*self.still, self.own]
        a = torch.softmax(torch.stack([p.max(0).values @ h for p in all]) / 2, 0)
        return self.own + sum(s * p for s, p in zip(a, all))


def states_with_prompts(model, family, call, rows_of):
    """The states that answers are read from, a list of rows, and how to read them."""
    given = dict(call)
    labels, ids, mask = given.pop("labels"), given.pop("input_ids"), given.pop("attention_mask")
    table = model.get_input_embeddings().weight
    if family == "bert":  # texts are cut where the prompt leaves no positions
        most = model.config.max_position_embeddings - 3
        ids, mask = ids[:, :most], mask[:, :most]
        given["token_type_ids"] = given["token_type_ids"][:, :most]
    rows = []
    for row, on in zip(ids, mask):
        words = table[row[: int(on.sum())]]
        rows.append(torch.cat([rows_of(words), words]))
    longest, l = max(len(r) for r in rows), 3
    given["inputs_embeds"] = torch.stack([torch.nn.functional.pad(r, (0, 0, 0, longest - len(r))) for r in rows])
    given["attention_mask"] = torch.nn.functional.pad(mask[:, : longest - l], (l, 0), value=1)
    if family != "bert":
        out = model(**given, output_hidden_states=True)
        kept = labels.ge(0)
        scale = model.model_dim ** -0.5 if model.lm_head.weight is model.shared.weight else 1
        return list(out.decoder_hidden_states[-1][kept] * scale), out.logits[kept], labels[kept]
    types = torch.nn.functional.pad(given.pop("token_type_ids")[:, : longest - l], (l, 0), value=0)
    hidden = model.bert(**given, token_type_ids=types).last_hidden_state
    first = torch.tanh(model.bert.pooler.dense(hidden[:, l]))  # of the text's first token
    return [h[: len(r)] for h, r in zip(hidden, rows)], first, labels


def read_with_prompts(model, family, call, attempt):
    _, answers, labels = states_with_prompts(model, family, call, attempt.rows)
    logits = model.classifier(answers) if family == "bert" else answers
    return logits, torch.nn.functional.cross_entropy(logits, labels)


def attempt(name):
    model, family = load(name)
    for p in model.parameters():
        p.requires_grad_(False)
    torch.manual_seed(9)
    mixed, call = Attempt(model.config.hidden_size if family == "bert" else model.config.d_model), call_of(model, family, folder_of(name))
    head = {n.replace("classifier", "head"): p for n, p in model.named_parameters() if n.startswith("classifier.")}
    values = mixed.trained | head
    for p in values.values():
        p.requires_grad_(True)
    logits, loss = read_with_prompts(model, family, call, mixed)
    loss.backward()
    out = {"logits": logits.detach().clone(), "loss": loss.detach().reshape(1)}
    for n, p in values.items():
        for kind, value in (("value", p), ("grad", p.grad)):
            out[f"{kind}.{n}"] = value.detach().reshape(1, -1).clone() if p.dim() == 1 else value.detach().clone()
    for k, p in enumerate(mixed.still):
        out["value.enc.embed/prompt%s.P" % ("" if k == 0 else f".{k + 1}")] = p
    optimiser = torch.optim.AdamW([dict(params=[p for p in values.values() if p.dim() > 1], weight_decay=0.01),
                                   dict(params=[p for p in values.values() if p.dim() == 1], weight_decay=0.0)], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = read_with_prompts(model, family, call, mixed)[1]
        losses.append(loss.item())
        loss.backward()
        optimiser.step()
    out["adamw"] = torch.tensor(losses, dtype=torch.float64)
    return out


# ---- MPT's distillation ----

def distil(name):
    model, family = load(name)
    for p in model.parameters():
        p.requires_grad_(False)
    torch.manual_seed(10)
    width = model.config.hidden_size if family == "bert" else model.config.d_model
    draw = lambda *shape: 0.5 * torch.randn(*shape, dtype=torch.float64)
    call = call_of(model, family, folder_of(name))
    teacher, head = draw(3, width), {n.replace("classifier", "head"): p for n, p in model.named_parameters() if n.startswith("classifier.")}
    other = {n: draw(*p.shape) for n, p in head.items()}
    values = {"enc.embed/prompt.P": draw(3, width), "enc.embed/prompt.u": draw(3, 1), "enc.embed/prompt.v": draw(1, width)} | head
    for p in values.values():
        p.requires_grad_(True)

    def read(rows, of_head):
        states, answers, labels = states_with_prompts(model, family, call, lambda words: rows)
        if family == "bert":
            answers = answers @ of_head["head.weight"].T + of_head["head.bias"]
        return states, answers, labels

    with torch.no_grad():
        said, wanted, _ = read(teacher, other)

    def loss():
        states, answers, labels = read(values["enc.embed/prompt.P"] * (values["enc.embed/prompt.u"] @ values["enc.embed/prompt.v"]), head)
        far = torch.stack([((x - y) ** 2).mean() for x, y in zip(states, said)]).mean()
        apart = (wanted.softmax(-1) * (wanted.log_softmax(-1) - answers.log_softmax(-1))).sum(-1).mean()
        task = torch.nn.functional.cross_entropy(answers, labels)
        return answers, task, apart, far, task + 0.7 * apart + 0.9 * far

    logits, task, apart, far, all = loss()
    all.backward()
    out = {"logits": logits.detach().clone(), "loss": all.detach().reshape(1), "apart": apart.detach().reshape(1), "far": far.detach().reshape(1),
           "teacher.enc.embed/prompt.P": teacher} | {"teacher." + n: p.reshape(1, -1) if p.dim() == 1 else p for n, p in other.items()}
    for n, p in values.items():
        for kind, value in (("value", p), ("grad", p.grad)):
            out[f"{kind}.{n}"] = value.detach().reshape(1, -1).clone() if p.dim() == 1 else value.detach().clone()
    optimiser = torch.optim.AdamW([dict(params=[p for p in values.values() if p.dim() > 1], weight_decay=0.01),
                                   dict(params=[p for p in values.values() if p.dim() == 1], weight_decay=0.0)], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        every = loss()[-1]
        losses.append(every.item())
        every.backward()
        optimiser.step()
    out["adamw"] = torch.tensor(losses, dtype=torch.float64)
    return out


METHODS = {"distil": (distil, ("bert-tiny", "t5-odd")), "diff": (diff, ("bert-tiny", "t5-odd")), "attempt": (attempt, ("bert-tiny", "t5-odd"))}


def main():
    for method in sys.argv[1:] or METHODS:
        how, names = METHODS[method]
        for name in names:
            path = os.path.join(OUT, f"{method}.{name}.safetensors")
            save_file({k: v.contiguous() for k, v in how(name).items()}, path)
            print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    main()
