#!/usr/bin/env python3
"""Expected values of tiny models tuned by the library peft, each method in a file of its own.

    make_tuned.py [METHOD…]     writes tests/reference/tuned/METHOD.MODEL.safetensors

The models are bert-tiny and some of families/, the rows those of their expected.safetensors.  All values F64:

  logits, loss            rows × classes, or target tokens × V; mean over rows or target tokens, without any term of
                          the method's own
  value.NAME, grad.NAME   the trained tensors and their gradients by petri's names, matrices out × in; a head's with them
  adamw                   10 losses of tuning them, each before its step

AdamW: lr 1e-2, betas 0.9 and 0.999, eps 1e-8, decay 0.01 for matrices, 0 for vectors, no clipping, constant rate, all
rows in every step.
"""
import os
import re
import sys

import torch
from peft import AdaLoraConfig, LNTuningConfig, LoraConfig, VeraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, BertForSequenceClassification

import make_bert
import make_families
import make_peft

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "tuned")
STEPS = 10
MAPS = {"query": "q", "key": "k", "value": "v", "q_proj": "q", "k_proj": "k", "v_proj": "v", "q": "q", "k": "k", "v": "v",
        "out_proj": "out", "o": "out", "fc1": "pre", "fc2": "out", "wi_0": "pre", "wi": "pre", "wo": "out"}
QV = {"bert": ["query", "value"], "roberta": ["query", "value"], "t5": ["q", "v"], "bart": ["q_proj", "v_proj"]}


def folder_of(name):
    return os.path.join(HERE, name) if name == "bert-tiny" else os.path.join(make_families.FOLDER, name)


def load(name):
    if name != "bert-tiny":
        return make_peft.load(name)
    config = make_bert.without_dropout(AutoConfig.from_pretrained(folder_of(name)))
    config._attn_implementation = "eager"
    return BertForSequenceClassification.from_pretrained(folder_of(name), config=config).eval().double(), "bert"


def call_of(model, family, folder):
    if family != "bert":
        return make_peft.call_of(model, family, folder)
    e = load_file(os.path.join(folder, "expected.safetensors"))
    pad = make_families.pad
    ids, types = (make_peft.split(e[k], e["lengths"]) for k in ("ids", "types"))
    return dict(input_ids=pad(ids, 0), attention_mask=pad([[1] * len(r) for r in ids], 0), token_type_ids=pad(types, 0),
                labels=e["labels"])


def run(model, call, family):
    given = dict(call)
    labels = given.pop("labels")
    logits = model(**given).logits
    if family not in ("bert", "roberta"):
        kept = labels.ge(0)
        logits, labels = logits[kept], labels[kept]
    return logits, torch.nn.functional.cross_entropy(logits, labels)


def map_of(module):
    """"enc.0.self", "q" of the module at this path."""
    at, last = make_peft.place(module), module.split(".")[-1]
    if last == "dense":
        return at, "pre" if ".intermediate." in module else "out"
    return at, MAPS[last]


def head_name(path):
    m = re.search(r"classifier\.(?:modules_to_save\.\w+\.)?((?:dense\.|out_proj\.)?)(weight|bias)$", path)
    return "head." + ("dense." if m.group(1) == "dense." else "") + m.group(2) if m else None


def lora_name(path, function="linear"):
    m = re.search(r"(.*)\.(lora_A|lora_B)\.default(?:\.weight)?$", path)
    at, tap = map_of(m.group(1))
    return f"{at}/{function}.{tap}.{dict(lora_A='W_d', lora_B='W_u')[m.group(2)]}"


def lora_patterns(family, task):
    """Ranks and scales by place, each divided by the rank's root."""
    return LoraConfig(task_type=task, r=4, lora_alpha=6, use_rslora=True, target_modules=["query", "value"],
                      rank_pattern={"layer.1.attention.self.query": 2}, alpha_pattern={"value": 3})


def embedding(family, task):
    return LoraConfig(task_type=task, r=3, lora_alpha=6, target_modules=["word_embeddings", "value"])


def embedding_name(path):
    m = re.search(r"\.lora_embedding_([AB])\.default$", path)
    return "enc.embed/lookup." + dict(A="W_d", B="W_u")[m.group(1)] if m else lora_name(path)


def dora(family, task):
    targets = [r"attention.output.dense", "query", "intermediate.dense"] if family == "bert" else QV[family]
    return LoraConfig(task_type=task, r=3, lora_alpha=6, use_dora=True, target_modules=targets)


def dora_name(path):
    m = re.search(r"(.*)\.lora_magnitude_vector\.", path)
    return "%s/decomposed.%s.m" % map_of(m.group(1)) if m else lora_name(path, "decomposed")


def vera(family, task):
    """Maps of two widths share a projection."""
    targets = ["query", "intermediate.dense"] if family == "bert" else ["q", "wo"]
    return VeraConfig(task_type=task, r=5, projection_prng_key=7, target_modules=targets)


def vera_name(path):
    m = re.search(r"(.*)\.vera_lambda_([db])\.default$", path)
    return "%s/projected.%s" % map_of(m.group(1)) + "." + m.group(2)


def norms(family, task):
    return LNTuningConfig(task_type=task, target_modules=["LayerNorm"] if family == "bert" else ["layer_norm", "final_layer_norm"])


def norm_name(path):
    return re.sub(r"^base_model\.model\.(bert\.)?", "", path).replace("ln_tuning_layers.default.", "")


def adalora(family, task):
    return AdaLoraConfig(task_type=task, init_r=4, target_r=2, tinit=2, tfinal=3, deltaT=2, total_step=STEPS, lora_alpha=3,
                         orth_reg_weight=0.1, target_modules=["query", "intermediate.dense"])


def adalora_name(path):
    m = re.search(r"(.*)\.lora_([ABE])\.default$", path)
    return "%s/svd.%s" % map_of(m.group(1)) + "." + dict(A="W_d", B="W_u", E="e")[m.group(2)]


METHODS = {
    "rslora": (lora_patterns, lora_name, ("bert-tiny",)),
    "vera": (vera, vera_name, ("bert-tiny", "t5-odd")),
    "ln-tuning": (norms, norm_name, ("bert-tiny", "t5-odd")),
    "adalora": (adalora, adalora_name, ("bert-tiny",)),
    "dora": (dora, dora_name, ("bert-tiny", "t5-odd")),
    "lora-embedding": (embedding, embedding_name, ("bert-tiny",)),
}


def start(path, p):
    """Values away from every start, none zero by chance."""
    if "magnitude" in path:
        return p.detach() + 0.3 * torch.rand_like(p)
    return 0.3 * torch.randn_like(p)


def orthogonality(tuned):
    """The library's term, of its own loss."""
    terms = []
    for n, p in tuned.named_parameters():
        if "lora_A" in n or "lora_B" in n:
            product = p @ p.T if "lora_A" in n else p.T @ p
            terms.append(torch.norm(product - torch.eye(len(product), dtype=p.dtype), p="fro"))
    return 0.1 * sum(terms) / len(terms)


def tune(method, name):
    config_of, name_of, _ = METHODS[method]
    model, family = load(name)
    task = "SEQ_CLS" if family in ("bert", "roberta") else "SEQ_2_SEQ_LM"
    torch.manual_seed(4)
    tuned = get_peft_model(model, config_of(family, task)).train().double()  # without dropout; in evaluation DoRA keeps old norms
    torch.manual_seed(5)
    for n, p in tuned.named_parameters():  # AdaLoRA's, which this version would train
        p.requires_grad_(p.requires_grad and "ranknum" not in n)
    trained = {n: p for n, p in tuned.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for n, p in trained.items():
            if not head_name(n):
                p.copy_(start(n, p))
    call = call_of(tuned, family, folder_of(name))
    logits, loss = run(tuned, call, family)
    loss.backward()
    out = {"logits": logits.detach().clone(), "loss": loss.detach().reshape(1)}
    for n, p in trained.items():
        ours = head_name(n) or name_of(n)
        for kind, value in (("value", p), ("grad", p.grad)):
            value = value.T if "lora_embedding_A" in n else value  # petri's has a row a token
            out[f"{kind}.{ours}"] = value.detach().reshape(1, -1).clone() if p.dim() == 1 or n.split(".")[-2] == "lora_E" else value.detach().clone()
    matrices = [p for p in trained.values() if p.dim() > 1 and 1 not in p.shape]
    vectors = [p for p in trained.values() if p.dim() == 1 or 1 in p.shape]
    optimiser = torch.optim.AdamW([dict(params=matrices, weight_decay=0.01), dict(params=vectors, weight_decay=0.0)], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = run(tuned, call, family)[1]
        losses.append(loss.item())
        (loss + orthogonality(tuned) if method == "adalora" else loss).backward()
        optimiser.step()
        if method == "adalora":
            tuned.base_model.update_and_allocate(len(losses))
    out["adamw"] = torch.tensor(losses, dtype=torch.float64)
    path = os.path.join(OUT, f"{method}.{name}.safetensors")
    save_file({k: v.contiguous() for k, v in out.items()}, path)
    print(path, os.path.getsize(path), "bytes")


def main():
    os.makedirs(OUT, exist_ok=True)
    for method in sys.argv[1:] or METHODS:
        for name in METHODS[method][2]:
            tune(method, name)


if __name__ == "__main__":
    main()
