#!/usr/bin/env python3
"""Runs of several tasks in PyTorch: mixed batches, an adapter of each task's own, LoRA and norms in common.

    PETRI_PARITY_DUMP=DIR build/tests/train/tasks_truth_dtest
    python tests/reference/mixed_steps.py --fixture DIR    writes tests/reference/tasks/
    PETRI_PARITY_DUMP=DIR build/tests/train/tasks_truth_test
    python tests/reference/mixed_steps.py --compare DIR    compares petri's steps with PyTorch's; with --steps 6
                        --losses tests/reference/tasks_truth.txt it makes what the program compares by itself

The first is tiny models in 64 bits, the second MiniLM with heads and flan-t5-small with texts, on GLUE's RTE,
MRPC and CoLA in 32 bits, where a difference of a loss above 1e-3, or of a gradient above 1e-4 of its tensor's
largest, ends with exit 1.  A folder of DIR is a case, as tests/support/mixed.c writes it:

  case.json           model (a folder), tasks (name, weight, outputs: 0 with texts), rate,
                      clip (0: none)
  last.safetensors    param/NAME: petri's values before the first step
  rows.tsv            step, task's number, source ids, target ids, label or score; in the order of training
  petri.safetensors   --compare: loss of each step, and gradient/NAME of the first one before clipping

tests/reference/tasks/CASE.safetensors, F64: start/NAME, loss (of each step), loss.TASK (NaN in steps without rows
of the task), gradient/NAME of the first step before clipping, after/NAME past the last one; AdamW without decay at
a constant rate.
"""
import argparse
import json
import math
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from transformers import AutoConfig, BertModel, T5ForConditionalGeneration

import make_families
from make_peft import TAPS, place

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "tests", "reference", "tasks")
LORA_SCALE, NORM_EPS = 2.0, 1e-5


class Rows:
    """Which task each row of the batch in hand is of."""
    task = None


class Lora(nn.Module):
    def __init__(self, base, down, up):
        super().__init__()
        self.base, self.down, self.up = base, down, up

    @property
    def weight(self):
        return self.base.weight

    def forward(self, x):
        return self.base(x) + LORA_SCALE * F.linear(F.linear(x, self.down), self.up)


class Beside(nn.Module):
    """The FFN's last map with norm(relu(x·W_d + b_d)·W_u + b_u) added, each row's by its task; x is what the FFN
    reads.  Parameters hold the tasks' blocks one above another, as petri's do."""

    def __init__(self, first, last, values, tasks):
        super().__init__()
        self.last, self.read, self.tasks, self.values = last, None, tasks, values
        first.register_forward_pre_hook(self.keep)

    @property
    def weight(self):
        return self.last.weight

    def keep(self, module, args):
        self.read = args[0]

    def of_rows(self, name, vector=False):
        columns = -1 if vector else self.values[name].shape[1]
        return self.values[name].reshape(self.tasks, 1 if vector else -1, columns)[Rows.task]

    def forward(self, x):
        h = torch.relu(self.read @ self.of_rows("W_d").transpose(1, 2) + self.of_rows("b_d", True))
        h = h @ self.of_rows("W_u").transpose(1, 2) + self.of_rows("b_u", True)
        if "gamma" in self.values:
            h = F.layer_norm(h, h.shape[-1:], eps=NORM_EPS) * self.of_rows("gamma", True) + self.of_rows("beta", True)
        return self.last(x) + h


def at(path):
    return place(f".{path}.")


def load_model(folder, dtype):
    config = AutoConfig.from_pretrained(folder)
    make_families.without_dropout(config)
    config._attn_implementation = "eager"
    if config.model_type == "bert":
        return BertModel.from_pretrained(folder, config=config).to(dtype).eval()
    tied = config.tie_word_embeddings
    model = T5ForConditionalGeneration.from_pretrained(folder, config=config).to(dtype).eval()
    if not tied:  # the output matrix is apart, the two embeddings are not
        model.encoder.embed_tokens.weight = model.decoder.embed_tokens.weight = model.shared.weight
    return model


class Case:
    def __init__(self, folder, dtype):
        self.folder = folder
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
            self.about = json.load(f)
        self.tasks = self.about["tasks"]
        self.model = load_model(self.about["model"], dtype)
        self.pad_id = self.model.config.pad_token_id
        values = load_file(os.path.join(folder, "last.safetensors"))
        self.trained = {n[6:]: nn.Parameter(v.to(dtype)) for n, v in values.items() if n.startswith("param/")}
        self.start = {n: p.detach().clone() for n, p in self.trained.items()}
        self.used = set()
        self.attach()
        for task in self.tasks:
            self.take(f"{task['name']}/head.")
        if self.used != set(self.trained):
            sys.exit(f"{folder}: other tensors: {sorted(self.used ^ set(self.trained))[:6]}")
        self.steps = self.read_rows(dtype)

    def attach(self):
        model, trained = self.model, self.trained
        for p in model.parameters():
            p.requires_grad_(False)
        for path, module in list(model.named_modules()):
            owner, name = model.get_submodule(path.rpartition(".")[0]), path.split(".")[-1]
            if name in TAPS:
                values = self.take(f"{at(path)}/linear.{TAPS[name]}.")
                if values:
                    setattr(owner, name, Lora(module, values["W_d"], values["W_u"]))
            elif hasattr(module, "wo"):  # T5
                first = module.wi if hasattr(module, "wi") else module.wi_0
                module.wo = Beside(first, module.wo, self.take(f"{at(path)}/bottleneck.out."), len(self.tasks))
            elif hasattr(module, "intermediate"):  # BERT
                module.output.dense = Beside(module.intermediate.dense, module.output.dense,
                                             self.take(f"{at(path)}/bottleneck.out."), len(self.tasks))

    def take(self, prefix):
        """{W_d: …} of one place."""
        names = [n for n in self.trained if n.startswith(prefix)]
        self.used |= set(names)
        return {n[len(prefix):]: self.trained[n] for n in names}

    def read_rows(self, dtype):
        steps = {}
        with open(os.path.join(self.folder, "rows.tsv"), encoding="utf-8") as f:
            for line in f:
                step, task, source, target, gold = line.rstrip("\n").split("\t")
                steps.setdefault(int(step), []).append(
                    (int(task), [int(i) for i in source.split()], [int(i) for i in target.split()], float(gold)))
        return [steps[i] for i in range(len(steps))]

    def losses(self, rows):
        """The batch's loss, and each task's own; the tasks' rows are a mean each."""
        model, sources = self.model, [r[1] for r in rows]
        pad = make_families.pad
        Rows.task = torch.tensor([r[0] for r in rows])
        call = dict(input_ids=pad(sources, self.pad_id), attention_mask=pad([[1] * len(s) for s in sources], 0))
        own, total = {}, 0
        if self.tasks[0]["outputs"]:
            out = model(**call, token_type_ids=self.types(rows)).pooler_output
        else:
            labels = pad([r[2] for r in rows], -100)
            log_p = F.log_softmax(model(**call, labels=labels).logits, -1)
            out = -log_p.gather(-1, labels.clamp(min=0)[..., None])[..., 0].masked_fill(labels < 0, 0)
        for i, task in enumerate(self.tasks):
            mine = [k for k, r in enumerate(rows) if r[0] == i]
            if not mine:
                continue
            if not task["outputs"]:
                own[i] = out[mine].sum() / sum(len(rows[k][2]) for k in mine)
            else:
                name = task["name"]
                given = F.linear(out[mine], self.trained[f"{name}/head.weight"].reshape(task["outputs"], -1),
                                 self.trained[f"{name}/head.bias"])
                gold = torch.tensor([rows[k][3] for k in mine])
                own[i] = F.mse_loss(given[:, 0], gold.to(given.dtype)) if task["outputs"] == 1 else \
                    F.cross_entropy(given, gold.long())
            total = total + task["weight"] * len(mine) / len(rows) * own[i]
        return total, own

    def types(self, rows):
        """Of a row's second text 1: what follows the first separator, which is a row's last token too."""
        firsts = [ids.index(ids[-1]) + 1 for _, ids, _, _ in rows]
        return make_families.pad([[0] * n + [1] * (len(r[1]) - n) for n, r in zip(firsts, rows)], 0)

    def train(self):
        """Each step's loss and the tasks' own, the first step's gradients; the values are then those at the end."""
        rate, clip = self.about["rate"], self.about["clip"]
        parameters = list(self.trained.values())
        optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0)
        losses, own, gradient = [], [[math.nan] * len(self.steps) for _ in self.tasks], {}
        for i, rows in enumerate(self.steps):
            # A task without rows in a step has a gradient of 0, head and blocks alike: AdamW goes on with what it
            # remembers of it.  (Of a tensor without .grad PyTorch would leave out the step altogether.)
            for p in parameters:
                p.grad = torch.zeros_like(p)
            loss, by_task = self.losses(rows)
            loss.backward()
            if not i:
                gradient = {n: p.grad.clone() for n, p in self.trained.items()}
            if clip:
                torch.nn.utils.clip_grad_norm_(parameters, clip)
            optimiser.step()
            losses.append(float(loss.detach()))
            for k, v in by_task.items():
                own[k][i] = float(v.detach())
        return losses, own, gradient


def make_fixture(folder, name):
    case = Case(os.path.join(folder, name), torch.float64)
    losses, own, gradient = case.train()
    out = {"loss": torch.tensor(losses, dtype=torch.float64)}
    for task, values in zip(case.tasks, own):
        out[f"loss.{task['name']}"] = torch.tensor(values, dtype=torch.float64)
    for n, p in case.trained.items():
        out[f"start/{n}"], out[f"gradient/{n}"], out[f"after/{n}"] = case.start[n], gradient[n], p.detach().clone()
    os.makedirs(OUT, exist_ok=True)
    save_file(out, os.path.join(OUT, f"{name}.safetensors"))
    print(name, *(f"{x:.9f}" for x in losses))


def compare(folder, name, steps):
    case = Case(os.path.join(folder, name), torch.float32)
    case.steps = case.steps[:steps]
    losses, _, gradient = case.train()
    ours = load_file(os.path.join(folder, name, "petri.safetensors"))
    if len(ours["loss"]) < len(losses):
        sys.exit(f"{name}: {len(ours['loss'])} losses of petri, {len(losses)} of PyTorch")
    by_step = [abs(a - b) for a, b in zip(losses, ours["loss"].tolist())]
    whole = max(float(g.abs().max()) for g in gradient.values())
    apart = {}
    for n, g in gradient.items():
        largest = float(g.abs().max())
        gap = float((g - ours[f"gradient/{n}"].view_as(g)).abs().max())
        apart[n] = gap / max(largest, 1e-5 * whole)  # what is zero but for rounding is not measured by itself
    worst = max(apart, key=apart.get)
    good = max(by_step) < 1e-3 and apart[worst] < 1e-4
    print(f"{name}: {len(losses)} steps, losses {losses[0]:.4f} … {losses[-1]:.4f}, apart by {max(by_step):.2g} at most;"
          f" {len(apart)} gradients, the furthest {worst} by {apart[worst]:.2g} of its largest: "
          f"{'agrees' if good else 'DIFFERS'}", flush=True)
    return good, " ".join([name] + [f"{x:.7f}" for x in losses])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--fixture", metavar="DIR")
    p.add_argument("--compare", metavar="DIR")
    p.add_argument("--steps", type=int, help="with --compare: only so many")
    p.add_argument("--losses", metavar="FILE", help="with --compare: PyTorch's losses, as tasks_truth.txt has them")
    args = p.parse_args()
    folder = args.fixture or args.compare
    if not folder:
        p.error("needs --fixture or --compare")
    names = sorted(n for n in os.listdir(folder) if os.path.exists(os.path.join(folder, n, "case.json")))
    if not names:
        sys.exit(f"{folder}: holds no case")
    if args.fixture:
        for name in names:
            make_fixture(folder, name)
        return 0
    results = [compare(folder, name, args.steps) for name in names]
    if args.losses:
        with open(args.losses, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for _, line in results)
    return 0 if all(good for good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
