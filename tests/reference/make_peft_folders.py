#!/usr/bin/env python3
"""Adapters as the library peft saves them on tiny models of other families than BERT, and what it answers with them.

    make_peft_folders.py [OUT]   writes tests/reference/families/peft/MODEL.KIND/ (or OUT/MODEL.KIND/)

KIND is lora, ia3, prompt, lookup (LoRA of the word embeddings, where a decoder has its own) or p-tuning with moved values; truth.safetensors has `logits` (F64) of the rows of the model's
expected.safetensors, by the library in 64 bits: rows × classes, or target tokens × V.  Values are numbers of 32 bits.
"""
import os
import pathlib
import shutil
import sys

import torch
from peft import IA3Config, LoraConfig, PromptEncoderConfig, PromptTuningConfig, get_peft_model
from safetensors.torch import save_file

from make_peft import FOLDER, TASKS, call_of, load, run

NAMES = ("roberta-tiny", "t5-odd", "bart-tiny")
KINDS = {
    "lora": lambda task: LoraConfig(task_type=task, r=2, lora_alpha=5),
    "ia3": lambda task: IA3Config(task_type=task),
    "prompt": lambda task: PromptTuningConfig(task_type=task, num_virtual_tokens=3),
    "lookup": lambda task: LoraConfig(task_type=task, r=2, lora_alpha=5, target_modules=["embed_tokens", "word_embeddings"],
                                      rank_pattern={"decoder.embed_tokens": 3}),
    "p-tuning": lambda task: PromptEncoderConfig(task_type=task, num_virtual_tokens=2, encoder_hidden_size=4),
}


def save(name, kind, out):
    model, family = load(name)
    torch.manual_seed(12)
    tuned = get_peft_model(model, KINDS[kind](TASKS[family])).eval().double()
    with torch.no_grad():
        for p in tuned.parameters():
            if p.requires_grad:
                p.copy_((p + 0.2 * torch.randn_like(p)).float().double())
    logits = run(tuned, call_of(tuned, family, os.path.join(FOLDER, name)), family)[0].detach().clone()
    folder = pathlib.Path(out) / f"{name}.{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    tuned.float().save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    config = folder / "adapter_config.json"
    config.write_text(config.read_text().replace(os.path.join(FOLDER, name), name))
    save_file({"logits": logits.contiguous()}, folder / "truth.safetensors")
    print(folder, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(FOLDER, "peft")
    for name in NAMES + ("mbart-tiny",):
        for kind in KINDS:
            if name in NAMES or kind == "lookup":  # mbart scales what it looks up
                save(name, kind, out)


if __name__ == "__main__":
    main()
