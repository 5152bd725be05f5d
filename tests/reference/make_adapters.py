#!/usr/bin/env python3
"""Adapters as the library peft saves them, and what it answers with them.

    make_adapters.py [NAME…]    writes tests/reference/adapters/, all without a name

rows.txt holds 64 texts of words that bert-tiny knows; NAME/ an adapter of that model with moved values, and
NAME/probabilities.txt the library's answers, a row each, with the classes' probabilities in order.
"""
import os
import pathlib
import random
import shutil
import sys

import torch
from peft import (AdaLoraConfig, IA3Config, LNTuningConfig, LoraConfig, MultitaskPromptTuningConfig, PeftModel,
                  PromptEncoderConfig, PromptTuningConfig, VeraConfig, get_peft_model)
from transformers import AutoModelForSequenceClassification, AutoTokenizer

HERE = pathlib.Path(__file__).resolve().parent
BASE, OUT = HERE / "bert-tiny", HERE / "adapters"
CLASSES, ROWS = 3, 64
HEAD = dict(task_type="SEQ_CLS")

ADAPTERS = {
    "lora": LoraConfig(r=2, lora_alpha=5, lora_dropout=0.1, target_modules=["query", "value"], **HEAD),
    "lora-patterns": LoraConfig(
        r=3, lora_alpha=6, use_rslora=True, target_modules=r".*\.(query|attention\.output\.dense|intermediate\.dense)",
        rank_pattern={r"layer\.\d\.attention\.self\.query": 2}, alpha_pattern={"layer.1.attention.self.query": 7},
        layers_to_transform=None, bias="lora_only", modules_to_save=["pooler"], **HEAD),
    "lora-layers": LoraConfig(r=2, target_modules=["key", "dense"], layers_to_transform=[0, 2], layers_pattern="layer", **HEAD),
    "lora-all": LoraConfig(r=2, bias="all", target_modules="all-linear", **HEAD),
    "lora-words": LoraConfig(r=1, target_modules=["value"], modules_to_save=["word_embeddings"], **HEAD),
    "lora-embedding": LoraConfig(r=2, lora_alpha=3, target_modules=["word_embeddings", "query"], **HEAD),
    "dora": LoraConfig(r=2, lora_alpha=3, use_dora=True, target_modules=["query", "dense"], exclude_modules=["bert.pooler.dense"], **HEAD),
    "dora-pooler": LoraConfig(r=1, lora_alpha=3, use_dora=True, target_modules=["pooler.dense", "key"], **HEAD),
    "vera": VeraConfig(r=4, target_modules=["query", "intermediate.dense"], projection_prng_key=5, **HEAD),
    "vera-seed": VeraConfig(r=4, target_modules=["query", "value"], save_projection=False, **HEAD),
    "ln-tuning": LNTuningConfig(target_modules=["LayerNorm"], **HEAD),
    "adalora": AdaLoraConfig(init_r=3, target_r=2, total_step=10, lora_alpha=5, target_modules=["query", "value"], **HEAD),
    "ia3": IA3Config(**HEAD),
    "prompt": PromptTuningConfig(num_virtual_tokens=3, **HEAD),
    "p-tuning": PromptEncoderConfig(num_virtual_tokens=2, encoder_hidden_size=5, **HEAD),
    "p-tuning-lstm": PromptEncoderConfig(num_virtual_tokens=2, encoder_hidden_size=3, encoder_reparameterization_type="LSTM", **HEAD),
    "mpt": MultitaskPromptTuningConfig(num_virtual_tokens=3, num_tasks=1, num_ranks=2, **HEAD),
}


def rows(tokenizer):
    words = [w for w in tokenizer.get_vocab() if w.isalpha()]
    words.sort()
    draw = random.Random(7)
    return [" ".join(draw.choice(words) for _ in range(draw.randint(1, 9))) for _ in range(ROWS)]


def base():
    torch.manual_seed(3)
    return AutoModelForSequenceClassification.from_pretrained(BASE, num_labels=CLASSES)


def save(name, config):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(11)
    model = get_peft_model(base(), config)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.15 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
    text = (folder / "adapter_config.json").read_text()
    (folder / "adapter_config.json").write_text(text.replace(str(BASE), "bert-tiny"))
    return folder


def answers(folder, tokenizer, texts):
    model = PeftModel.from_pretrained(base(), folder).eval()
    task = dict(task_ids=torch.zeros(1, dtype=torch.long)) if folder.name == "mpt" else {}
    with torch.no_grad():
        logits = [model(**tokenizer(t, return_tensors="pt"), **task).logits[0].double() for t in texts]
    return [torch.softmax(x, -1).tolist() for x in logits]


def main():
    OUT.mkdir(exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    texts = rows(tokenizer)
    (OUT / "rows.txt").write_text("".join(t + "\n" for t in texts))
    for name in sys.argv[1:] or ADAPTERS:
        config = ADAPTERS[name]
        folder = save(name, config)
        lines = [" ".join(f"{p:.9f}" for p in row) for row in answers(folder, tokenizer, texts)]
        (folder / "probabilities.txt").write_text("\n".join(lines) + "\n")
        print(name, sum(os.path.getsize(folder / f) for f in os.listdir(folder)), "bytes")


if __name__ == "__main__":
    main()
