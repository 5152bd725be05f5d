#!/usr/bin/env python3
"""Expected values of prompts on the tiny models of make_families.py, by the libraries that have them.

    make_prompts.py peft         in the environment of requirements.txt
    make_prompts.py hub          in one with the library adapters (make_hub.py): adds to what is there

writes tests/reference/families/NAME/prompts.safetensors.  The rows are those of expected.safetensors.  For each
method (prompt: three rows; mlp, lstm: three rows behind a network of width 4 and 3; product: three rows times a
product of rank 2, on encoders alone, since the library puts it into a decoder too; hub: three rows behind the
embedding; after: the same behind the first token) all values F64:

  METHOD.logits, METHOD.loss      rows × classes, or target tokens × V; mean over rows or target tokens
  METHOD.value.NAME, .grad.NAME   the trained tensors and their gradients by petri's names; a RoBERTa's head with them
  METHOD.steps                    ten losses of AdamW, each before its step: lr 1e-2, decay 0.01 for matrices

Of a model with a decoder PEFT keeps twice the rows and reads the first half (rows=peft).
"""
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

import make_families
from make_families import CLASSES, FOLDER, without_dropout

TASKS = {"roberta": "SEQ_CLS", "t5": "SEQ_2_SEQ_LM", "bart": "SEQ_2_SEQ_LM", "mbart": "SEQ_2_SEQ_LM"}
NAMES = ("roberta-tiny", "roberta-odd", "t5-tiny", "t5-odd", "bart-tiny", "mbart-tiny")
LENGTH = 3
HERE = "enc.embed/prompt."


def load(name):
    family, folder = name.split("-")[0], os.path.join(FOLDER, name)
    config = AutoConfig.from_pretrained(folder)
    without_dropout(config)
    config._attn_implementation = "eager"
    return CLASSES[family].from_pretrained(folder, config=config).eval().double(), family, folder


def split(values, lengths):
    return [list(part) for part in torch.split(values, lengths.tolist())]


def call_of(model, family, folder):
    e = load_file(os.path.join(folder, "expected.safetensors"))
    pad = make_families.pad
    ids = split(e["ids"], e["lengths"])
    call = dict(input_ids=pad(ids, model.config.pad_token_id), attention_mask=pad([[1] * len(r) for r in ids], 0))
    if family == "roberta":
        return call | dict(token_type_ids=pad(split(e["types"], e["lengths"]), 0), labels=e["labels"])
    target_in, target_out = (split(e[k], e["target_lengths"]) for k in ("target_in", "target_out"))
    return call | dict(decoder_input_ids=pad(target_in, model.config.pad_token_id), labels=pad(target_out, -100))


def petri_name(path):
    if "classifier" in path:
        part, what = path.split(".")[-2:]
        return ("head.dense." if part == "dense" else "head.") + what
    last = path.split(".")[-1]
    if "lstm_head" in path:
        kind, rest = ("W_", last[len("weight_"):]) if last.startswith("weight") else ("b_", last[len("bias_"):])
        way, layer = rest[:2], rest[len("ih_l")]
        return f"{HERE}{kind}{way}.{layer}{'r' if rest.endswith('_reverse') else ''}"
    if "mlp_head" in path:
        return f"{HERE}{'W' if last == 'weight' else 'b'}_{int(path.split('.')[-2]) // 2 + 1}"
    if "prefix_task_cols" in path:
        return HERE + "u"
    if "prefix_task_rows" in path:
        return HERE + "v"
    return HERE + "P"


def run(model, call, family):
    given = dict(call)
    labels = given.pop("labels")
    logits = model(**given).logits
    if family == "roberta":
        return logits, torch.nn.functional.cross_entropy(logits, labels)
    kept = labels.ge(0)
    return logits[kept], torch.nn.functional.cross_entropy(logits[kept], labels[kept])


def tune(out, method, tuned, call, family):
    tuned = tuned.eval().double()
    trained = {n: p for n, p in tuned.named_parameters() if p.requires_grad}
    networked = any("mlp_head" in n for n in trained)
    names = {n: HERE + "E" if networked and petri_name(n) == HERE + "P" else petri_name(n) for n in trained}
    torch.manual_seed(5)
    with torch.no_grad():
        for n, p in trained.items():
            if "classifier" not in n:
                p.add_(0.3 * torch.randn_like(p))
    start = {n: p.detach().clone() for n, p in trained.items()}
    logits, loss = run(tuned, call, family)
    loss.backward()
    out[f"{method}.logits"], out[f"{method}.loss"] = logits.detach().clone(), loss.detach().reshape(1)
    for n, p in trained.items():
        flat = (lambda v: v.reshape(1, -1)) if p.dim() == 1 else (lambda v: v.reshape(-1, v.shape[-1]))
        out[f"{method}.value.{names[n]}"] = flat(start[n])
        out[f"{method}.grad.{names[n]}"] = flat(p.grad.detach()).clone()
    optimiser = torch.optim.AdamW([{"params": [p for p in trained.values() if p.dim() > 1], "weight_decay": 0.01},
                                   {"params": [p for p in trained.values() if p.dim() == 1], "weight_decay": 0.0}], lr=1e-2)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        loss = run(tuned, call, family)[1]
        losses.append(loss.item())
        loss.backward()
        optimiser.step()
    out[f"{method}.steps"] = torch.tensor(losses, dtype=torch.float64)


def by_peft(name):
    from peft import MultitaskPromptTuningConfig, PromptEncoderConfig, PromptTuningConfig, get_peft_model

    def config(method, task):
        if method == "product":
            return MultitaskPromptTuningConfig(task_type=task, num_virtual_tokens=LENGTH, num_tasks=1, num_ranks=2)
        if method == "prompt":
            return PromptTuningConfig(task_type=task, num_virtual_tokens=LENGTH)
        width = 4 if method == "mlp" else 3
        return PromptEncoderConfig(task_type=task, num_virtual_tokens=LENGTH, encoder_hidden_size=width,
                                   encoder_reparameterization_type=method.upper())

    out = {}
    for method in ("prompt", "mlp", "lstm", "product"):
        model, family, folder = load(name)
        if method == "product" and family != "roberta":
            continue
        torch.manual_seed(3)
        tuned = get_peft_model(model, config(method, TASKS[family]))
        call = call_of(model, family, folder)
        if method == "product":
            call["task_ids"] = torch.zeros(len(call["labels"]), dtype=torch.long)
        tune(out, method, tuned, call, family)
    return out


def by_hub(name):
    import adapters
    from adapters import PromptTuningConfig

    out = {}
    for method, combine in (("hub", "prefix"), ("after", "prefix_after_bos")):
        model, family, folder = load(name)
        if family != "roberta":
            continue
        adapters.init(model)
        torch.manual_seed(3)
        model.add_adapter("p", config=PromptTuningConfig(prompt_length=LENGTH, combine=combine))
        model.train_adapter("p")
        model.set_active_adapters("p")
        for n, p in model.named_parameters():
            if "classifier" in n:
                p.requires_grad_(True)
        tune(out, method, model, call_of(model, family, folder), family)
    return out


def main():
    by = {"peft": by_peft, "hub": by_hub}[sys.argv[1]]
    for name in NAMES:
        path = os.path.join(FOLDER, name, "prompts.safetensors")
        out = load_file(path) if sys.argv[1] == "hub" and os.path.exists(path) else {}
        out |= by(name)
        save_file({k: v.contiguous() for k, v in out.items()}, path)
        print(name, sorted({k.split(".")[0] for k in out}), os.path.getsize(path))


if __name__ == "__main__":
    main()
