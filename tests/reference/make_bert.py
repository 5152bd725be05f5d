#!/usr/bin/env python3
"""Expected values of BERT encoders, from PyTorch and transformers.

    make_bert.py tiny                 writes tests/reference/bert-tiny/
    make_bert.py minilm MODEL_FOLDER  writes tests/reference/minilm/

bert-tiny/ is a random model of odd sizes as transformers saves it (BertForSequenceClassification,
names with the prefix "bert."), with vocab.txt; all dropout is off.  expected.safetensors beside it:

  ids, types      I64, tokens of the rows one after another (no padding)
  lengths, labels I64, one a row
  layer.0 … N     F64, tokens × d: the embeddings' output and each layer's
  pooled, logits  F64, rows × d and rows × classes
  loss            F64, mean cross-entropy over the rows
  grad.NAME       F64, gradient of that loss in full tuning, NAME as in model.safetensors
  adamw           F64, 10 losses of full tuning, each before its step
  lora.NAME.a, .b F64, r × in and out × r, none zero; NAME as
                  "encoder.layer.0.attention.self.query"; the map becomes x Wᵀ + b + 2·(x Aᵀ) Bᵀ
  lora.logits, lora.loss, lora.grad.NAME.a / .b, lora.grad.classifier.weight / .bias
  lora.adamw      10 losses of tuning the factors and the classifier

AdamW: lr 1e-3 (lora: 1e-2), betas 0.9 and 0.999, eps 1e-8, decay 0.01 for matrices, 0 for
vectors, no clipping, constant rate, all rows in every step.  Values are computed in float64 from
the stored F32 weights.

minilm/expected.safetensors: ids, types, lengths, labels as above for real sentences; cls.0 … N
(rows × d: first token of each layer), mean (rows × d: mean over all tokens of the last layer),
head.w and head.b of a made classifier, logits, loss, adamw (full tuning, lr 1e-5), and of every
tensor NAME grad.NAME: its gradient's largest magnitude followed by the values at the 16 places
(i * 7919 + 13) mod size.  Factors of lora on query and value, r 2, scale 2, are made by rule:
value i of factor k is ((i * 37 + k * 101) mod 201 - 100) / 4096, k counting a, b of query, then of
value, layer by layer; lora.logits, lora.loss, lora.grad.NAME.a / .b (same 17 numbers), lora.adamw
(lr 1e-3).
"""
import json
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForSequenceClassification

HERE = os.path.dirname(os.path.abspath(__file__))
SCALE = 2.0


class Lora(torch.nn.Module):
    def __init__(self, base, a, b):
        super().__init__()
        self.base = base
        self.a, self.b = torch.nn.Parameter(a), torch.nn.Parameter(b)

    def forward(self, x):
        return self.base(x) + SCALE * torch.nn.functional.linear(
            torch.nn.functional.linear(x, self.a), self.b)


def pad(rows):
    longest = max(len(r[0]) for r in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for i, (row, kinds) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        types[i, : len(row)] = torch.tensor(kinds)
        mask[i, : len(row)] = 1
    return dict(input_ids=ids, token_type_ids=types, attention_mask=mask)


def packed(x, mask):
    return x[mask.bool()].detach().clone().contiguous()


def inputs(rows, labels):
    return {
        "ids": torch.tensor([t for r in rows for t in r[0]]),
        "types": torch.tensor([t for r in rows for t in r[1]]),
        "lengths": torch.tensor([len(r[0]) for r in rows]),
        "labels": labels.clone(),
    }


def adamw(model, parameters, batch, labels, lr, steps=10):
    matrices = [p for p in parameters if p.dim() > 1]
    vectors = [p for p in parameters if p.dim() <= 1]
    optimiser = torch.optim.AdamW(
        [dict(params=matrices, weight_decay=0.01), dict(params=vectors, weight_decay=0.0)], lr=lr)
    losses = []
    for _ in range(steps):
        loss = model(**batch, labels=labels).loss
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return torch.tensor(losses, dtype=torch.float64)


def add_lora(model, factor):
    """factor(k, rows, cols) makes factor k.  Returns {NAME: module}."""
    out, k = {}, 0
    for i, layer in enumerate(model.bert.encoder.layer):
        for which in ("query", "value"):
            base = getattr(layer.attention.self, which)
            r = factor.rank
            module = Lora(base, factor(k, r, base.in_features), factor(k + 1, base.out_features, r))
            k += 2
            setattr(layer.attention.self, which, module)
            out[f"encoder.layer.{i}.attention.self.{which}"] = module
    return out


def without_dropout(config):
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config.classifier_dropout = 0.0
    return config


def save(folder, values):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "expected.safetensors")
    save_file({k: v.contiguous() for k, v in values.items()}, path)
    print(path, os.path.getsize(path), "bytes")


# ---- the tiny model ----

WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat un ##aff ##able ##s cafe . , ! ' "
a b ##b ##c not good bad film very ##ly 3 it is was great dull plot acting ##ing end ##ed he she
they we with out of to and but or no yes one two ten all some""".split()


def tiny():
    folder = os.path.join(HERE, "bert-tiny")
    torch.manual_seed(1)
    config = without_dropout(BertConfig(
        vocab_size=len(WORDS), hidden_size=20, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=36, max_position_embeddings=24, type_vocab_size=2, num_labels=3,
        id2label={0: "bad", 1: "fair", 2: "good"}, label2id={"bad": 0, "fair": 1, "good": 2},
        attn_implementation="eager"))
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * 0.25)
        for name, p in model.named_parameters():
            if "LayerNorm.weight" in name:
                p.add_(1.0)
    published = BertConfig.from_dict(config.to_dict())
    published.hidden_dropout_prob = published.attention_probs_dropout_prob = 0.1
    published.classifier_dropout = None
    model.config = published
    model.save_pretrained(folder)
    model.config = config
    with open(os.path.join(folder, "vocab.txt"), "w") as f:
        f.write("\n".join(WORDS) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, f)

    g = torch.Generator().manual_seed(2)
    rows = []
    for length, second in ((7, 0), (3, 0), (24, 11), (12, 5), (1, 0), (9, 8)):
        ids = torch.randint(5, len(WORDS), (length,), generator=g).tolist()
        rows.append((ids, [0] * (length - second) + [1] * second))
    labels = torch.tensor([2, 0, 1, 1, 0, 2])
    batch = pad(rows)
    out = inputs(rows, labels)

    model = model.double()
    first = {k: v.clone() for k, v in model.state_dict().items()}
    result = model(**batch, labels=labels, output_hidden_states=True)
    for i, h in enumerate(result.hidden_states):
        out[f"layer.{i}"] = packed(h, batch["attention_mask"])
    out["pooled"] = torch.tanh(model.bert.pooler.dense(result.hidden_states[-1][:, 0])).detach()
    out["logits"], out["loss"] = result.logits.detach(), result.loss.detach().reshape(1)
    result.loss.backward()
    for name, p in model.named_parameters():
        out["grad." + name] = p.grad.clone()
    model.zero_grad()
    out["adamw"] = adamw(model, list(model.parameters()), batch, labels, 1e-3)
    model.load_state_dict(first)

    def factor(k, rows_, cols):
        g = torch.Generator().manual_seed(100 + k)
        return torch.randn(rows_, cols, generator=g).double() * 0.3
    factor.rank = 3
    modules = add_lora(model, factor)
    trained = [p for m in modules.values() for p in (m.a, m.b)]
    for name, m in modules.items():
        out[f"lora.{name}.a"], out[f"lora.{name}.b"] = m.a.detach().clone(), m.b.detach().clone()
    trained += [model.classifier.weight, model.classifier.bias]
    model.zero_grad()
    result = model(**batch, labels=labels)
    out["lora.logits"], out["lora.loss"] = result.logits.detach(), result.loss.detach().reshape(1)
    result.loss.backward()
    for name, m in modules.items():
        out[f"lora.grad.{name}.a"], out[f"lora.grad.{name}.b"] = m.a.grad.clone(), m.b.grad.clone()
    out["lora.grad.classifier.weight"] = model.classifier.weight.grad.clone()
    out["lora.grad.classifier.bias"] = model.classifier.bias.grad.clone()
    model.zero_grad()
    out["lora.adamw"] = adamw(model, trained, batch, labels, 1e-2)
    save(folder, out)


# ---- MiniLM ----

SENTENCES = (
    ("A quiet, funny film that never raises its voice.", None),
    ("The plot is dull; the acting, worse.", "Nobody in the cinema laughed, not even once."),
    ("café naïveté & 3 unaffable cats!", None),
)


def samples(x):
    x = x.detach().reshape(-1)
    places = (torch.arange(16) * 7919 + 13) % x.numel()
    return torch.cat([x.abs().max().reshape(1), x[places]])


def minilm(source):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(os.path.join(source, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    rows = []
    for a, b in SENTENCES:
        e = tokenizer.encode(a, b) if b else tokenizer.encode(a)
        rows.append((e.ids, e.type_ids))
    config = without_dropout(BertConfig.from_pretrained(source))
    config.num_labels = 2
    torch.manual_seed(3)
    model = BertForSequenceClassification.from_pretrained(
        source, config=config, attn_implementation="eager").eval().double()
    with torch.no_grad():
        for p in (model.classifier.weight, model.classifier.bias):
            p.copy_((torch.randn_like(p) * 0.05).float().double())
    labels = torch.tensor([1, 0, 1])
    batch, out = pad(rows), inputs(rows, labels)
    out["head.w"] = model.classifier.weight.detach().clone()
    out["head.b"] = model.classifier.bias.detach().clone()
    first = {k: v.clone() for k, v in model.state_dict().items()}
    result = model(**batch, labels=labels, output_hidden_states=True)
    for i, h in enumerate(result.hidden_states):
        out[f"cls.{i}"] = h[:, 0].detach().clone()
    mask = batch["attention_mask"].unsqueeze(-1).double()
    out["mean"] = ((result.hidden_states[-1] * mask).sum(1) / mask.sum(1)).detach()
    out["logits"], out["loss"] = result.logits.detach(), result.loss.detach().reshape(1)
    result.loss.backward()
    for name, p in model.named_parameters():
        out["grad." + name.removeprefix("bert.")] = samples(p.grad)
    model.zero_grad()
    out["adamw"] = adamw(model, list(model.parameters()), batch, labels, 1e-5)
    model.load_state_dict(first)

    def factor(k, rows_, cols):
        i = torch.arange(rows_ * cols)
        return (((i * 37 + k * 101) % 201 - 100).double() / 4096).reshape(rows_, cols)
    factor.rank = 2
    modules = add_lora(model, factor)
    trained = [p for m in modules.values() for p in (m.a, m.b)]
    trained += [model.classifier.weight, model.classifier.bias]
    model.zero_grad()
    result = model(**batch, labels=labels)
    out["lora.logits"], out["lora.loss"] = result.logits.detach(), result.loss.detach().reshape(1)
    result.loss.backward()
    for name, m in modules.items():
        out[f"lora.grad.{name}.a"] = samples(m.a.grad)
        out[f"lora.grad.{name}.b"] = samples(m.b.grad)
    model.zero_grad()
    out["lora.adamw"] = adamw(model, trained, batch, labels, 1e-3)
    save(os.path.join(HERE, "minilm"), out)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:] == ["tiny"]:
        tiny()
    elif len(sys.argv) == 3 and sys.argv[1] == "minilm":
        minilm(sys.argv[2])
    else:
        sys.exit(__doc__)
