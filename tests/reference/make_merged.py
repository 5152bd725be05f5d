#!/usr/bin/env python3
"""Adapters joined by the library peft, of folders that make_adapters.py and this script make.

    make_merged.py              writes tests/reference/adapters/lora-second/ and merged.safetensors

lora-second is a LoRA of the rank of adapters/lora, at queries and keys, where that one is at queries and values.
merged.safetensors holds WAY.MODULE.lora_A and .lora_B of add_weighted_adapter with WEIGHTS: cat, linear and ties
(density DENSITY).  The library refuses adapters that both bring a head, so heads are left out there.
"""
import shutil

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import save_file

from make_adapters import BASE, HEAD, OUT, base

WEIGHTS, DENSITY = [0.7, -0.4], 0.4


def second():
    folder = OUT / "lora-second"
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(12)
    model = get_peft_model(base(), LoraConfig(r=2, lora_alpha=3, target_modules=["query", "key"], **HEAD))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.15 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
    text = (folder / "adapter_config.json").read_text()
    (folder / "adapter_config.json").write_text(text.replace(str(BASE), "bert-tiny"))


def headless(folder):
    config = LoraConfig.from_pretrained(folder)
    config.modules_to_save, config.task_type = None, None
    return config


def main():
    second()
    names = ["lora", "lora-second"]
    model = PeftModel.from_pretrained(base(), OUT / names[0], adapter_name="first", config=headless(OUT / names[0]))
    adapter = headless(OUT / names[1])
    model.add_adapter("second", adapter)
    from peft.utils import load_peft_weights, set_peft_model_state_dict
    set_peft_model_state_dict(model, load_peft_weights(OUT / names[1]), adapter_name="second")
    out = {}
    for way in ("cat", "linear", "ties"):
        model.base_model.add_weighted_adapter(["first", "second"], WEIGHTS, way, combination_type=way,
                                              **({"density": DENSITY} if way == "ties" else {}))
        for name, module in model.named_modules():
            if isinstance(module, LoraLayer) and way in module.lora_A:
                assert module.scaling[way] == 1
                short = name.removeprefix("base_model.model.")
                out[f"{way}.{short}.lora_A"] = module.lora_A[way].weight.detach().clone().contiguous()
                out[f"{way}.{short}.lora_B"] = module.lora_B[way].weight.detach().clone().contiguous()
    save_file(out, OUT / "merged.safetensors")


if __name__ == "__main__":
    main()
