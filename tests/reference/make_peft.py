#!/usr/bin/env python3
"""Expected values of tuned tiny models, from the library peft on the models of make_families.py.

    make_peft.py                 writes tests/reference/families/NAME/peft.safetensors

The rows are those of expected.safetensors.  For each method (lora: r 3, α 6 on queries and values of
every attention; ia3: what the library scales in that family; prefix: 3 keys and values, which the
library has at the decoder's self-attention alone) all values F64:

  METHOD.logits, METHOD.loss      rows × classes, or target tokens × V; mean over rows or target tokens
  METHOD.value.NAME, .grad.NAME   the trained tensors and their gradients by petri's names, matrices
                                  out × in; a RoBERTa's head with them

Of a prefix's table, a pair of keys and values for each of the L decoder layers, the library gives layer i
pair 2i mod L: where L is even, every other pair is read by two layers and the rest by none (measured: their
gradients are zero).  value.NAME is what a layer reads; grad.NAME, of a pair, stands at the first layer that
reads it and is the sum over those that do.  With a prefix of l the library counts positions from l.  It has none for an encoder of this transformers,
and gives T5's a relative bias as if it stood before the text, where petri gives none: prefixes of BART and
mBART are left.
"""
import os
import re
import sys

import torch
from peft import IA3Config, LoraConfig, PrefixTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

import make_families
from make_families import CLASSES, FOLDER, without_dropout

NAMES = ("roberta-tiny", "roberta-odd", "t5-tiny", "t5-odd", "bart-tiny", "bart-odd", "mbart-tiny", "mbart-odd")
TASKS = {"roberta": "SEQ_CLS", "t5": "SEQ_2_SEQ_LM", "bart": "SEQ_2_SEQ_LM", "mbart": "SEQ_2_SEQ_LM"}
IA3 = {"roberta": None, "t5": None, "bart": None,  # the library's own choice
       "mbart": (["k_proj", "v_proj", "fc2"], ["fc2"])}
TAPS = {"query": "q", "key": "k", "value": "v", "q_proj": "q", "k_proj": "k", "v_proj": "v", "q": "q",
        "k": "k", "v": "v"}
LENGTH = 3


def load(name):
    family, folder = name.split("-")[0], os.path.join(FOLDER, name)
    config = AutoConfig.from_pretrained(folder)
    without_dropout(config)
    config._attn_implementation = "eager"
    return CLASSES[family].from_pretrained(folder, config=config).eval().double(), family


def split(values, lengths):
    return [list(part) for part in torch.split(values, lengths.tolist())]


def call_of(model, family, folder):
    e = load_file(os.path.join(folder, "expected.safetensors"))
    pad = make_families.pad
    ids = split(e["ids"], e["lengths"])
    call = dict(input_ids=pad(ids, model.config.pad_token_id),
                attention_mask=pad([[1] * len(r) for r in ids], 0))
    if family == "roberta":
        return call | dict(token_type_ids=pad(split(e["types"], e["lengths"]), 0), labels=e["labels"])
    target_in, target_out = (split(e[k], e["target_lengths"]) for k in ("target_in", "target_out"))
    return call | dict(decoder_input_ids=pad(target_in, model.config.pad_token_id), labels=pad(target_out, -100))


def place(path):
    """"dec.1.cross" of the module at this path."""
    layer = re.search(r"\.(?:layer|layers|block)\.(\d+)\.", path).group(1)
    stack = "dec" if ".decoder." in path else "enc"
    if re.search(r"EncDecAttention|encoder_attn", path):
        return f"{stack}.{layer}.cross"
    attention = re.search(r"SelfAttention|self_attn|\.attention\.", path)
    return f"{stack}.{layer}.{'self' if attention else 'ffn'}"


def petri_name(path):
    """petri's name of a trained tensor of the library, and whether it has to be flattened."""
    head = re.search(r"classifier\.(?:modules_to_save\.\w+\.)?(dense|out_proj)\.(weight|bias)$", path)
    if head:
        return ("head.dense." if head.group(1) == "dense" else "head.") + head.group(2), False
    parts = path.split(".")
    if "lora_A" in parts or "lora_B" in parts:
        i = parts.index("lora_A" if "lora_A" in parts else "lora_B")
        return f"{place(path)}/linear.{TAPS[parts[i - 1]]}.W_{'d' if parts[i] == 'lora_A' else 'u'}", False
    i = parts.index("ia3_l")
    tap = TAPS.get(parts[i - 1]) or ("act" if place(path).endswith("ffn") else "ctx")
    return f"{place(path)}/scale.{tap}.l", True


def run(model, call, family):
    """Logits of the tokens there are, and the loss; the caller's graph."""
    given = dict(call)
    labels = given.pop("labels")
    logits = model(**given).logits
    if family == "roberta":
        return logits, torch.nn.functional.cross_entropy(logits, labels)
    kept = labels.ge(0)
    return logits[kept], torch.nn.functional.cross_entropy(logits[kept], labels[kept])


def keep(out, method, logits, loss):
    out[f"{method}.logits"], out[f"{method}.loss"] = logits.detach().clone(), loss.detach().reshape(1)


def tune(name, method, out):
    model, family = load(name)
    folder = os.path.join(FOLDER, name)
    if method == "lora":
        config = LoraConfig(task_type=TASKS[family], r=3, lora_alpha=6,
                            target_modules=["query", "value"] if family == "roberta" else
                            ["q", "v"] if family == "t5" else ["q_proj", "v_proj"])
    else:
        own = {} if IA3[family] is None else dict(zip(("target_modules", "feedforward_modules"), IA3[family]))
        config = IA3Config(task_type=TASKS[family], **own)
    tuned = get_peft_model(model, config).eval().double()
    torch.manual_seed(5)
    trained = {n: p for n, p in tuned.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for n, p in trained.items():
            if "classifier" not in n:
                p.copy_((1.0 if method == "ia3" else 0.0) + 0.3 * torch.randn_like(p))
    logits, loss = run(tuned, call_of(tuned, family, folder), family)
    loss.backward()
    keep(out, method, logits, loss)
    for n, p in trained.items():
        ours, vector = petri_name(n)
        for kind, value in (("value", p), ("grad", p.grad)):
            out[f"{method}.{kind}.{ours}"] = (value.detach().reshape(1, -1) if vector else value.detach()).clone()


def tune_prefix(name, out):
    model, family = load(name)
    tuned = get_peft_model(model, PrefixTuningConfig(task_type=TASKS[family], num_virtual_tokens=LENGTH,
                                                     num_layers=model.config.decoder_layers))
    tuned = tuned.eval().double()
    torch.manual_seed(6)
    table = tuned.prompt_encoder["default"].embedding.weight  # l × (layer, key or value, width)
    with torch.no_grad():
        table.copy_(torch.randn_like(table))
    logits, loss = run(tuned, call_of(tuned, family, os.path.join(FOLDER, name)), family)
    loss.backward()
    keep(out, "prefix", logits, loss)
    width, layers, read = model.config.d_model, model.config.decoder_layers, set()
    for layer in range(layers):
        pair = 2 * layer % layers
        for k, what in enumerate(("P_k", "P_v")):
            at = f"dec.{layer}.self/softmax.head.{what}"
            columns = slice((2 * pair + k) * width, (2 * pair + k + 1) * width)
            out[f"prefix.value.{at}"] = table.detach()[:, columns].clone()
            if pair not in read:
                out[f"prefix.grad.{at}"] = table.grad[:, columns].clone()
        read.add(pair)


def main():
    for name in sys.argv[1:] or NAMES:
        out = {}
        for method in ("lora", "ia3"):
            tune(name, method, out)
        if "bart" in name:
            tune_prefix(name, out)
        save_file({k: v.contiguous() for k, v in out.items()}, os.path.join(FOLDER, name, "peft.safetensors"))
        print(name, sorted({k.split(".value.")[1].split("/")[-1] for k in out if ".value." in k}))


if __name__ == "__main__":
    main()
