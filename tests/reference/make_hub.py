#!/usr/bin/env python3
"""Adapters as the library adapters (AdapterHub) saves them, and what it answers with them.

    make_hub.py [NAME…]         writes tests/reference/adapters/hub-*/, of the rows of make_adapters.py

Needs the library adapters 1.3.0 with the transformers that it wants.
"""
import json
import pathlib
import shutil
import sys

import adapters
import torch
from adapters import (AutoAdapterModel, CompacterConfig, ConfigUnion, DoubleSeqBnConfig, IA3Config, LoRAConfig, ParBnConfig,
                      PrefixTuningConfig, PromptTuningConfig, SeqBnConfig)
from safetensors.torch import load_file
from transformers import AutoTokenizer

HERE = pathlib.Path(__file__).resolve().parent
BASE, OUT = HERE / "bert-tiny", HERE / "adapters"
NAME = "task"

ADAPTERS = {
    "hub-pfeiffer": SeqBnConfig(reduction_factor=4),
    "hub-houlsby": DoubleSeqBnConfig(reduction_factor={"1": 8, "default": 5}, leave_out=[0]),
    "hub-parallel": ParBnConfig(reduction_factor=6),
    "hub-learned": ParBnConfig(reduction_factor=6, scaling="learned", non_linearity="gelu_new", mh_adapter=True),
    "hub-lora": LoRAConfig(r=2, alpha=6, intermediate_lora=True),
    "hub-ia3": IA3Config(),
    "hub-prefix": PrefixTuningConfig(prefix_length=3, bottleneck_size=7),
    "hub-prefix-flat": PrefixTuningConfig(prefix_length=2, flat=True),
    "hub-mam": ConfigUnion(PrefixTuningConfig(prefix_length=2, bottleneck_size=5), ParBnConfig(reduction_factor=10)),
    "hub-compacter": CompacterConfig(reduction_factor=5, phm_dim=2),
    "hub-channel": SeqBnConfig(reduction_factor=20, scaling="channel"),
    "hub-channel-gate": ParBnConfig(reduction_factor=20, scaling="channel", use_gating=True),
    "hub-products-shared": SeqBnConfig(reduction_factor=10, phm_layer=True, phm_dim=2, phm_rank=2, shared_phm_rule=True,
                                       factorized_phm_rule=True, shared_W_phm=True, learn_phm=False),
    "hub-products-own": SeqBnConfig(reduction_factor=10, phm_layer=True, phm_dim=2, phm_rank=1, shared_phm_rule=False,
                                    factorized_phm_rule=True),
    "hub-head-one": ParBnConfig(reduction_factor=10),
    "hub-head-pooled": SeqBnConfig(reduction_factor=10),
    "hub-gate": SeqBnConfig(reduction_factor=10, use_gating=True, scaling=3.0),
    "hub-lora-gate": LoRAConfig(r=2, alpha=6, use_gating=True),
    "hub-prefix-gates": PrefixTuningConfig(prefix_length=2, flat=True, use_gating=True, shared_gating=False, leave_out=[1]),
    "hub-unipelt": ConfigUnion(LoRAConfig(r=2, alpha=2, use_gating=True), PrefixTuningConfig(prefix_length=2, bottleneck_size=5, use_gating=True),
                               SeqBnConfig(reduction_factor=10, use_gating=True)),
    "hub-dora": LoRAConfig(r=2, alpha=5, use_dora=True, output_lora=True),
    "hub-vera": LoRAConfig(r=3, alpha=4, vera_d=0.1, vera_b=0.2, init_weights="vera"),
    "hub-prompt": PromptTuningConfig(prompt_length=3),
    "hub-prompt-after": PromptTuningConfig(prompt_length=2, combine="prefix_after_bos"),
}
HEADS = {  # others have two layers
    "hub-head-one": dict(layers=1),
    "hub-head-pooled": dict(layers=2, activation_function="relu", use_pooler=True),
}


def save(name, config, tokenizer, texts):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(17)
    model = AutoAdapterModel.from_pretrained(BASE)
    model.add_adapter(NAME, config=config)
    model.add_classification_head(NAME, num_labels=3, **HEADS.get(name, dict(layers=2)), id2label={0: "low", 1: "middle", 2: "high"})
    model.train_adapter(NAME)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.15 * torch.randn_like(parameter)
    model.set_active_adapters(NAME)
    model.eval()
    pickled = any(x in name for x in ("prefix", "mam", "unipelt"))
    model.save_adapter(folder, NAME, with_head=True, use_safetensors=not pickled)
    with torch.no_grad():
        rows = [torch.softmax(model(**tokenizer(t, return_tensors="pt")).logits[0].double(), -1).tolist() for t in texts]
    (folder / "probabilities.txt").write_text("".join(" ".join(f"{p:.9f}" for p in row) + "\n" for row in rows))
    for config_file in folder.glob("*config.json"):
        config_file.write_text(config_file.read_text().replace(str(BASE), "bert-tiny"))


def old(texts):
    """hub-pfeiffer as the first versions of the library, then called adapter-transformers, named and packed it."""
    of, folder = OUT / "hub-pfeiffer", OUT / "hub-old"
    folder.mkdir(exist_ok=True)
    told = json.loads((of / "adapter_config.json").read_text())
    keys = ("adapter_residual_before_ln", "ln_after", "ln_before", "mh_adapter", "non_linearity", "original_ln_after", "original_ln_before",
            "output_adapter", "reduction_factor", "residual_before_ln")
    told["config"] = {k: told["config"][k] for k in keys} | {
        "invertible_adapter": {"block_type": "nice", "non_linearity": "relu", "reduction_factor": 2}}
    del told["version"]
    (folder / "adapter_config.json").write_text(json.dumps(told | {"type": "text_task"}, indent=2, sort_keys=True))
    tensors = load_file(of / "adapter.safetensors")
    torch.save({k.replace(".output.adapters.", ".output.layer_text_task_adapters."): v for k, v in tensors.items()}, folder / "pytorch_adapter.bin")
    for file in ("head_config.json", "model_head.safetensors", "probabilities.txt"):
        (folder / file).write_bytes((of / file).read_bytes())


def main():
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    texts = (OUT / "rows.txt").read_text().splitlines()
    print("adapters", adapters.__version__)
    if "hub-old" in (sys.argv[1:] or ["hub-old"]):
        old(texts)
    for name, config in ADAPTERS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        save(name, config, tokenizer, texts)
        print(name, sum(f.stat().st_size for f in (OUT / name).iterdir()), "bytes")


if __name__ == "__main__":
    main()
