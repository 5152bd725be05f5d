#!/usr/bin/env python3
"""Expected values of flan-t5-small's real weights, from PyTorch and transformers.

    make_t5.py MODEL_FOLDER     writes tests/reference/flan-t5-small/

expected.safetensors; SAMPLES of a tensor are its largest magnitude followed by the values at the 16
places (i * 7919 + 13) mod size, as in minilm/:

  ids, types, lengths,         as in families/ (make_families.py): sentences and answers, framed as the
  target_in, target_out,       tokenizer does; labels are zero
  target_lengths, labels
  layer.0 … 17                 F64 SAMPLES of the encoder's nine outputs, then of the decoder's
  encoded, decoded             F64, rows × d: of the last token of each row
  logits                       F64 SAMPLES of target tokens × V
  loss, nll, uniform,          as in families/
  smooth.*
  grad.NAME                    F64 SAMPLES of the gradient of loss, of every tensor
  lora.logits (SAMPLES), lora.loss, lora.grad.NAME.a / .b (SAMPLES), lora.adamw
                               rank 2, scale 2 on query and value of every attention; NAME as
                               "decoder.block.0.layer.1.EncDecAttention.q".  Value i of factor k is
                               ((i * 37 + k * 101) mod 201 - 100) / 4096, k counting a, b of query, then
                               of value, encoder first, in a block self before cross; ten losses of
                               AdamW as in families/, on the factors alone

texts.tsv: GAP, source, its ids, greedy text of at most 24 new tokens, its ids; GAP is the smallest
difference between the best and the second logit on the way.  Values are computed in float64 from the F32 weights.
"""
import os
import sys

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import T5Config, T5ForConditionalGeneration

import make_bert
import make_families

PAIRS = (
    ("translate English to German: The house is small.", "Das Haus ist klein."),
    ("sst2 sentence: a quiet, funny film that never raises its voice", "1"),
    ("summarize: The ferry was late because of fog, and when it came at last nobody was left on the "
     "quay to take it.", "A late ferry found nobody waiting."),
)
SENTENCES = (
    "The harbour was empty when the ferry came in.", "My sister repairs old radios in her kitchen.",
    "It rained for three days, and then the river came over the bridge.",
    "Nobody in the cinema laughed, not even once.", "The new teacher speaks four languages.",
    "We had bread, cheese and a bottle of cold milk.", "The plot is dull; the acting, worse.",
    "A warm and clever film about two brothers and a boat.", "The train to the north leaves at seven.",
    "She wrote the letter twice and sent neither.",
)
ASKS = (
    "translate English to German: {}", "translate English to French: {}", "summarize: {}",
    "Is the following sentence positive or negative? {}", "{} What is this sentence about?",
)


def load(folder):
    config = T5Config.from_pretrained(folder)
    make_families.without_dropout(config)
    config.tie_word_embeddings = False  # the output matrix is apart
    model = T5ForConditionalGeneration(config).eval()
    model.encoder.embed_tokens.weight = model.decoder.embed_tokens.weight = model.shared.weight
    model.load_state_dict(load_file(os.path.join(folder, "model.safetensors")), strict=False)
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return model.double(), tokenizer


def rows(tokenizer, out):
    flat, pad = make_families.flat, make_families.pad
    sources = [tokenizer.encode(a).ids for a, _ in PAIRS]
    answers = [tokenizer.encode(b).ids for _, b in PAIRS]
    starts = [[0] + a[:-1] for a in answers]
    out["ids"], out["target_in"], out["target_out"] = flat(sources), flat(starts), flat(answers)
    out["types"] = torch.zeros_like(out["ids"])
    out["lengths"] = torch.tensor([len(s) for s in sources])
    out["target_lengths"] = torch.tensor([len(a) for a in answers])
    out["labels"] = torch.zeros(len(sources), dtype=torch.long)
    return dict(input_ids=pad(sources, 0), attention_mask=pad([[1] * len(s) for s in sources], 0),
                decoder_input_ids=pad(starts, 0), labels=pad(answers, -100))


def thinned(out):
    """What forward() gave, as the head of this file says."""
    for name in [n for n in out if n.startswith("layer.")] + ["logits"]:
        out[name] = make_bert.samples(out[name])
    for name, lengths in (("encoded", "lengths"), ("decoded", "target_lengths")):
        out[name] = out[name][out[lengths].cumsum(0) - 1].clone()


def lora(model, call, out):
    modules, k = {}, 0
    for name, base in list(model.named_modules()):
        if name.split(".")[-1] not in ("q", "v"):
            continue
        factors = []
        for shape in ((2, base.in_features), (base.out_features, 2)):
            i = torch.arange(shape[0] * shape[1])
            factors.append((((i * 37 + k * 101) % 201 - 100).double() / 4096).reshape(shape))
            k += 1
        modules[name] = make_bert.Lora(base, *factors)
        setattr(model.get_submodule(name.rpartition(".")[0]), name.split(".")[-1], modules[name])
    for p in model.parameters():
        p.requires_grad_(False)
    trained = [p for m in modules.values() for p in (m.a, m.b)]
    for p in trained:
        p.requires_grad_(True)
    result = model(**call)
    out["lora.logits"] = make_bert.samples(result.logits[call["labels"].ge(0)])
    out["lora.loss"] = result.loss.detach().reshape(1)
    result.loss.backward()
    for name, m in modules.items():
        out[f"lora.grad.{name}.a"] = make_bert.samples(m.a.grad)
        out[f"lora.grad.{name}.b"] = make_bert.samples(m.b.grad)
    model.zero_grad()
    labels = call.pop("labels")
    out["lora.adamw"] = make_bert.adamw(model, trained, call, labels, 1e-3)


def texts(model, tokenizer, path):
    with open(path, "w", encoding="utf-8") as f:
        for source in [PAIRS[0][0]] + [ask.format(sentence) for ask in ASKS for sentence in SENTENCES]:
            ids = torch.tensor([tokenizer.encode(source).ids])
            with torch.no_grad():
                result = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), num_beams=1,
                                        do_sample=False, max_new_tokens=24, output_logits=True,
                                        return_dict_in_generate=True)
            best = torch.stack([step[0].topk(2).values for step in result.logits])
            new = result.sequences[0, 1:].tolist()
            given, made = (" ".join(map(str, x)) for x in (ids[0].tolist(), new))
            gap = (best[:, 0] - best[:, 1]).min().item()
            print(f"{gap:.3g}", source, given, tokenizer.decode(new), made, sep="\t", file=f)


def main(source):
    torch.set_num_threads(1)
    folder = os.path.join(make_families.HERE, "flan-t5-small")
    os.makedirs(folder, exist_ok=True)
    model, tokenizer = load(source)
    texts(model, tokenizer, os.path.join(folder, "texts.tsv"))
    out = {}
    call = rows(tokenizer, out)
    loss, _, _ = make_families.forward(model, call, out)
    thinned(out)
    loss.backward()
    for name, p in model.named_parameters():
        out["grad." + name] = make_bert.samples(p.grad)
    model.zero_grad()
    lora(model, call, out)
    make_bert.save(folder, out)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
