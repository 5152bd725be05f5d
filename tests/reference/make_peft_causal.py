#!/usr/bin/env python3
"""Adapters as the library peft saves them on tiny decoder-only models, and what it answers with them.

    make_peft_causal.py [OUT]   writes tests/reference/causal/peft/MODEL.KIND/ (or OUT/MODEL.KIND/)

MODEL is one of make_causal.py's; the adapters have moved values.  truth.safetensors has `logits` (F64) by the library in 64
bits (RMSNorm in 32): every 16th of tokens × V for the tokens of the model's expected.safetensors, or of a classifier all.
Values are numbers of 32 bits.
"""
import os
import pathlib
import shutil
import sys

import torch
from peft import (IA3Config, LNTuningConfig, LoraConfig, PrefixTuningConfig, PromptEncoderConfig, PromptTuningConfig,
                  get_peft_model)
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from make_causal import FOLDER

LM, CLS = dict(task_type="CAUSAL_LM"), dict(task_type="SEQ_CLS")
KINDS = {
    "lora": lambda: LoraConfig(r=2, lora_alpha=5, **LM),
    "lora-all": lambda: LoraConfig(r=2, lora_alpha=3, use_rslora=True, target_modules="all-linear",
                                   rank_pattern={r"layers\.0\.mlp\.up_proj": 3}, alpha_pattern={"k_proj": 7}, **LM),
    "lora-layer": lambda: LoraConfig(r=2, lora_alpha=4, target_modules=["up_proj", "o_proj"], layers_to_transform=[1], **LM),
    "lora-words": lambda: LoraConfig(r=2, lora_alpha=3, target_modules=["embed_tokens", "gate_proj"], **LM),
    "dora": lambda: LoraConfig(r=2, lora_alpha=3, use_dora=True, target_modules="all-linear", **LM),
    "ia3": lambda: IA3Config(**LM),
    "ln": lambda: LNTuningConfig(**LM),
    "prefix": lambda: PrefixTuningConfig(num_virtual_tokens=3, **LM),
    "prompt": lambda: PromptTuningConfig(num_virtual_tokens=3, **LM),
    "p-tuning": lambda: PromptEncoderConfig(num_virtual_tokens=2, encoder_hidden_size=4, **LM),
    "classes": lambda: LoraConfig(r=2, lora_alpha=5, target_modules=["q_proj", "down_proj"], **CLS),
    "classes-prompt": lambda: PromptTuningConfig(num_virtual_tokens=2, **CLS),
}
WHICH = {"llama": list(KINDS), "qwen2": ["ia3", "ln", "prefix", "classes"], "qwen3": ["lora-all", "ia3", "prefix", "prompt"]}


def load(name, kind):
    path = os.path.join(FOLDER, name)
    torch.manual_seed(3)
    if kind.startswith("classes"):
        return AutoModelForSequenceClassification.from_pretrained(path, num_labels=3, attn_implementation="eager")
    return AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager")


def save(name, kind, out):
    base = load(name, kind).float()
    torch.manual_seed(12)
    tuned = get_peft_model(base, KINDS[kind]()).eval().double()
    with torch.no_grad():
        for p in tuned.parameters():
            if p.requires_grad:
                p.copy_((p + 0.2 * torch.randn_like(p)).float().double())
    ids = load_file(os.path.join(FOLDER, name, "expected.safetensors"))["ids"][None]
    with torch.no_grad():
        logits = tuned(input_ids=ids).logits[0]
    if not kind.startswith("classes"):
        logits = logits[-ids.shape[1]:].reshape(-1)[::16]
    folder = pathlib.Path(out) / f"{name}.{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    tuned.float().save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)
    config = folder / "adapter_config.json"
    config.write_text(config.read_text().replace(os.path.join(FOLDER, name), name))
    save_file({"logits": logits.detach().clone().contiguous()}, folder / "truth.safetensors")
    print(folder, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(FOLDER, "peft")
    for name, kinds in WHICH.items():
        for kind in kinds:
            save(name, kind, out)


if __name__ == "__main__":
    main()
