#!/usr/bin/env python3
"""Expected values of a head of masked words, from transformers' BertForMaskedLM: writes tests/reference/masked/.

A random model of odd sizes as transformers saves it, with vocab.txt; all dropout is off.  expected.safetensors beside it:

  ids, types             I64, tokens of the rows one after another (no padding), masks put in
  lengths, labels        I64, one a row (labels: 0)
  mask_row, mask_at, mask_id  I64, one a masked token: its row, its place there, the id to guess
  logits                 F64, masked tokens × vocabulary
  loss                   F64, mean cross-entropy over the masked tokens
  grad.NAME              F64, gradient of that loss, all tensors trained, NAME as in model.safetensors
  adamw                  F64, 10 losses, each before its step
  after.NAME             F64, the tensors after these

AdamW: lr 1e-3, betas 0.9 and 0.999, eps 1e-8, decay 0.01 for matrices, 0 for vectors, no clipping, constant rate.  Values
are computed in float64 from the stored F32 weights.
"""
import json
import os

import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "masked")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "tool", "for", "images", "##s", "edit", "##ing", "game", "of", "the",
         "net", "##work", "server", "lib", "##rary", "sound", "text", "."]
ROWS = [[2, 5, 6, 7, 10, 11, 8, 3], [2, 14, 17, 13, 5, 15, 16, 22, 3], [2, 18, 19, 3]]
MASKS = [(0, 2, 4), (0, 5, 9), (1, 4, 5), (2, 1, 4)]  # row, place, what is put there


def main():
    torch.manual_seed(5)
    config = BertConfig(vocab_size=len(WORDS), hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
                        max_position_embeddings=16, type_vocab_size=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForMaskedLM(config)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.2)
    model.save_pretrained(FOLDER, safe_serialization=True)
    os.remove(os.path.join(FOLDER, "generation_config.json")) if os.path.exists(os.path.join(FOLDER, "generation_config.json")) else None
    with open(os.path.join(FOLDER, "vocab.txt"), "w", encoding="utf-8") as f:
        f.write("".join(f"{w}\n" for w in WORDS))
    with open(os.path.join(FOLDER, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, f)
        f.write("\n")
    model = model.double()
    model.load_state_dict({k: v.double() for k, v in load_file(os.path.join(FOLDER, "model.safetensors")).items()}, strict=False)

    longest = max(len(r) for r in ROWS)
    ids = torch.zeros(len(ROWS), longest, dtype=torch.long)
    seen = torch.zeros(len(ROWS), longest, dtype=torch.long)
    labels = torch.full((len(ROWS), longest), -100)
    for i, row in enumerate(ROWS):
        ids[i, : len(row)] = torch.tensor(row)
        seen[i, : len(row)] = 1
    for row, place, put in MASKS:
        labels[row, place] = ids[row, place]
        ids[row, place] = put
    out = model(input_ids=ids, attention_mask=seen, labels=labels)
    out.loss.backward()
    flat = torch.cat([ids[i, : len(r)] for i, r in enumerate(ROWS)])
    expected = {
        "ids": flat, "types": torch.zeros_like(flat), "lengths": torch.tensor([len(r) for r in ROWS]),
        "labels": torch.zeros(len(ROWS), dtype=torch.long),
        "mask_row": torch.tensor([m[0] for m in MASKS]), "mask_at": torch.tensor([m[1] for m in MASKS]),
        "mask_id": torch.tensor([int(labels[m[0], m[1]]) for m in MASKS]),
        "logits": torch.stack([out.logits[m[0], m[1]] for m in MASKS]).detach(), "loss": out.loss.detach().view(1),
    }
    stored = load_file(os.path.join(FOLDER, "model.safetensors"))
    named = {n: p for n, p in model.named_parameters() if n in stored}
    for name, p in named.items():
        expected[f"grad.{name}"] = p.grad.clone()
    decayed = [p for p in named.values() if p.dim() > 1]
    others = [p for p in named.values() if p.dim() == 1]
    adamw = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}], lr=1e-3)
    losses = []
    for _ in range(10):
        adamw.zero_grad()
        loss = model(input_ids=ids, attention_mask=seen, labels=labels).loss
        losses.append(loss.item())
        loss.backward()
        adamw.step()
    expected["adamw"] = torch.tensor(losses, dtype=torch.float64)
    for name, p in named.items():
        expected[f"after.{name}"] = p.detach().clone()
    save_file(expected, os.path.join(FOLDER, "expected.safetensors"))
    print(sorted(stored), len(stored), "tensors; loss", out.loss.item(), losses[-1])


if __name__ == "__main__":
    main()
