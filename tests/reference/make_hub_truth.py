#!/usr/bin/env python3
"""What the library adapters (AdapterHub) computes with adapters of many settings, on the tiny models here.

    make_hub_truth.py                       writes tests/reference/adapters/truth/NAME/ and, of fused adapters, tests/reference/adapters/fused/NAME/
    make_hub_truth.py --random N DIR [FROM] writes N settings that are drawn, DIR/NNN-FAMILY/, from number FROM on

A folder is an adapter as the library saves it (its head beside it where the model has none of its own), of values moved
from their start, with truth.safetensors: `logits` (rows × classes, or of each target token) and `loss`, F64, of the rows
in the model's expected.safetensors.  A folder of the first kind holds two more adapters: grad/, whose values are the
loss's gradients, and after/, the values after ten steps of Adam (rate 0.01, no decay) on those rows.  So a reader of the
first reads all three.

In fused/NAME (of models with a decoder fused-text/NAME, without a head) lie the fusion of two or three adapters, its head, and the adapters a, b, c in folders of their own; grad/ and
after/ hold the fusion's maps and the head alone.  The loss there is the rows' and 0.01 Σ ‖I − V‖² where the fusion has it.

PETRI_HUB_RANDOM=DIR build/tests/exchange/hub_dtest compares petri with what was drawn.
Needs the library adapters 1.3.0 with the transformers that it wants.
"""
import json
import os
import pathlib
import random
import shutil
import sys
import warnings

import adapters
import torch
from adapters import (AdapterPlusConfig, AutoAdapterModel, BnConfig, ConfigUnion, LoRAConfig, ParBnConfig,
                      PrefixTuningConfig, SeqBnConfig)
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, BartForConditionalGeneration, T5ForConditionalGeneration

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "adapters" / "truth"
FOLDERS = {"bert": HERE / "bert-tiny", "roberta": HERE / "families" / "roberta-tiny",
           "t5": HERE / "families" / "t5-tiny", "bart": HERE / "families" / "bart-tiny"}
NAME, STEPS, RATE = "task", 10, 0.01

BASE = dict(mh_adapter=False, output_adapter=True, reduction_factor=4, non_linearity="relu")
CASES = {
    "bert-order": ("bert", BnConfig(**dict(BASE, mh_adapter=True), original_ln_before=True, original_ln_after=True,
                                    residual_before_ln="post_add", ln_before=True, ln_after=True, scaling=2.0,
                                    adapter_residual_before_ln=True)),
    "bert-bare": ("bert", BnConfig(**dict(BASE, non_linearity="gelu"), original_ln_before=True, original_ln_after=False,
                                   residual_before_ln=False, ln_after=True, scaling="learned")),
    "roberta-parallel": ("roberta", BnConfig(**BASE, is_parallel=True, original_ln_after=True, ln_before=True,
                                             ln_after=True, scaling=4.0)),
    "t5-sums": ("t5", BnConfig(**dict(BASE, cross_adapter=True, mh_adapter=True), original_ln_before=True,
                               residual_before_ln=False, ln_after=True, leave_out=[1])),
    "bert-products": ("bert", BnConfig(**dict(BASE, mh_adapter=True, reduction_factor=5), original_ln_before=True,
                                       phm_layer=True, phm_dim=4, phm_rank=2, shared_phm_rule=False, ln_after=True)),
    "bart-cross": ("bart", BnConfig(**dict(BASE, cross_adapter=True, mh_adapter=True, non_linearity="swish"),
                                    original_ln_before=True, original_ln_after=True, residual_before_ln=True,
                                    ln_before=True)),
    "bart-prefix": ("bart", PrefixTuningConfig(prefix_length=2, flat=True)),
}


def load(family):
    folder = FOLDERS[family]
    config = AutoConfig.from_pretrained(folder)
    for key in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "dropout_rate",
                "activation_dropout"):
        if hasattr(config, key):
            setattr(config, key, 0.0)
    config._attn_implementation = "eager"
    if family in ("bert", "roberta"):
        model = AutoAdapterModel.from_pretrained(folder, config=config)
    else:
        kind = T5ForConditionalGeneration if family == "t5" else BartForConditionalGeneration
        model = kind.from_pretrained(folder, config=config)
        adapters.init(model)
    return model


def rows(values, lengths, fill):
    parts = torch.split(values, lengths.tolist())
    return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=fill)


def call_of(model, family):
    e = load_file(FOLDERS[family] / "expected.safetensors")
    pad = model.config.pad_token_id
    call = dict(input_ids=rows(e["ids"], e["lengths"], pad),
                attention_mask=rows(torch.ones_like(e["ids"]), e["lengths"], 0))
    if family in ("bert", "roberta"):
        return call | dict(token_type_ids=rows(e["types"], e["lengths"], 0)), e["labels"]
    call["decoder_input_ids"] = rows(e["target_in"], e["target_lengths"], pad)
    return call, rows(e["target_out"], e["target_lengths"], -100)


def compute(model, call, labels, alone=False):
    """alone: a row at a time, without padding, over which the library's gates would average."""
    if alone:
        ends = call["attention_mask"].sum(1).tolist()
        logits = torch.cat([model(**{k: v[i:i + 1, :end] for k, v in call.items()}).logits for i, end in enumerate(ends)])
    else:
        logits = model(**call).logits
    kept = labels.ge(0)
    return logits[kept], torch.nn.functional.cross_entropy(logits[kept], labels[kept])


def save(model, folder, heads, shared):
    folder.mkdir(parents=True, exist_ok=True)
    model.float()
    model.save_adapter(folder, NAME, with_head=heads, use_safetensors=not shared)
    model.double()
    for file in folder.glob("*config.json"):
        told = json.loads(file.read_text())
        told["model_name"] = os.path.basename(told["model_name"])
        file.write_text(json.dumps(told, indent=2, sort_keys=True))


def trained(model, heads):
    return [p for n, p in model.named_parameters() if p.requires_grad and (heads or "head" not in n)]


def make(folder, family, config, seed, whole):
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(seed)
    model, heads = load(family), family in ("bert", "roberta")
    # what the library saves twice its safetensors refuse
    shared = config.get("ln_before", False) or config.architecture == "prefix_tuning"
    model.add_adapter(NAME, config=config)
    if heads:
        model.add_classification_head(NAME, num_labels=3, layers=2)
    model.double()
    model.train_adapter(NAME)
    model.set_active_adapters(NAME)
    values = trained(model, heads)
    with torch.no_grad():
        for p in values:
            p += 0.2 * torch.randn_like(p)
            p.copy_(p.float())  # what is saved
    model.eval()
    call, labels = call_of(model, family)
    logits, loss = compute(model, call, labels, alone=config.get("use_gating", False))
    save(model, folder, heads, shared)
    save_file({"logits": logits.detach().contiguous(), "loss": loss.detach().reshape(1)}, folder / "truth.safetensors")
    if not whole:
        return
    loss.backward()
    start = [p.detach().clone() for p in values]
    with torch.no_grad():
        for p in values:
            p.copy_(p.grad if p.grad is not None else torch.zeros_like(p))
    save(model, folder / "grad", heads, shared)
    with torch.no_grad():
        for p, s in zip(values, start):
            p.copy_(s)
    steps = torch.optim.Adam(values, lr=RATE)
    for _ in range(STEPS):
        steps.zero_grad()
        compute(model, call, labels)[1].backward()
        steps.step()
    save(model, folder / "after", heads, shared)


def save_fusion(model, folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    model.float()
    model.save_adapter_fusion(folder, names, with_head=NAME if hasattr(model, "active_head") else False, use_safetensors=True)
    model.double()
    for file in folder.glob("*config.json"):
        told = json.loads(file.read_text())
        told["model_name"] = os.path.basename(told["model_name"])
        file.write_text(json.dumps(told, indent=2, sort_keys=True))


def penalty(model, fusion):
    return model.get_fusion_regularization_loss() if fusion["regularization"] else 0


def make_fusion(folder, family, configs, fusion, seed):
    from adapters.composition import Fuse

    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(seed)
    model, names = load(family), ["a", "b", "c"][:len(configs)]
    for name, config in zip(names, configs):
        model.add_adapter(name, config=config)
    model.add_adapter_fusion(Fuse(*names), fusion)
    if family in ("bert", "roberta"):
        model.add_classification_head(NAME, num_labels=3, layers=2)
    model.double()
    model.train_adapter_fusion(Fuse(*names))
    model.active_adapters = Fuse(*names)
    if family in ("bert", "roberta"):
        model.active_head = NAME
    values = [p for n, p in model.named_parameters() if p.requires_grad and ("head" not in n or f".{NAME}." in n)]
    adapters_own = [p for n, p in model.named_parameters() if ".adapters." in n]
    with torch.no_grad():
        for p in values + adapters_own:
            p += 0.2 * torch.randn_like(p)
            p.copy_(p.float())
    model.eval()
    call, labels = call_of(model, family)
    logits, loss = compute(model, call, labels)
    save_fusion(model, folder, ",".join(names))
    model.float()
    for name in names:
        model.save_adapter(folder / name, name, with_head=False, use_safetensors=True)
        file = folder / name / "adapter_config.json"
        told = json.loads(file.read_text())
        told["model_name"] = os.path.basename(told["model_name"])
        file.write_text(json.dumps(told, indent=2, sort_keys=True))
    model.double()
    save_file({"logits": logits.detach().contiguous(), "loss": loss.detach().reshape(1)}, folder / "truth.safetensors")
    start = [p.detach().clone() for p in values]
    for p in values:
        p.grad = None
    (compute(model, call, labels)[1] + penalty(model, fusion)).backward()
    with torch.no_grad():
        for p in values:
            p.copy_(p.grad if p.grad is not None else torch.zeros_like(p))
    save_fusion(model, folder / "grad", ",".join(names))
    with torch.no_grad():
        for p, s in zip(values, start):
            p.copy_(s)
    steps = torch.optim.Adam(values, lr=RATE)
    for _ in range(STEPS):
        steps.zero_grad()
        (compute(model, call, labels)[1] + penalty(model, fusion)).backward()
        steps.step()
    save_fusion(model, folder / "after", ",".join(names))


def fusions():
    from adapters import AdapterFusionConfig

    sequential = dict(original_ln_before=True, original_ln_after=True, residual_before_ln=True)
    one, two = BnConfig(**BASE, **sequential), BnConfig(**dict(BASE, reduction_factor=8, non_linearity="gelu"), **sequential, scaling=2.0)
    houlsby = [BnConfig(**dict(BASE, mh_adapter=True, reduction_factor=rf, non_linearity=act), original_ln_before=False,
                        original_ln_after=True, residual_before_ln=True) for rf, act in ((5, "swish"), (10, "relu"), (10, "tanh"))]
    dynamic = AdapterFusionConfig.load("dynamic")
    text = [BnConfig(**BASE), BnConfig(**dict(BASE, reduction_factor=8, non_linearity="gelu"), scaling=2.0)]
    return {"dynamic": ("bert", [one, two], dynamic), "static": ("bert", houlsby, AdapterFusionConfig.load("static")),
            "inside": ("bert", [one, two], AdapterFusionConfig.load("dynamic", query_before_ln=True, residual_before=True,
                                                            value_before_softmax=False)),
            "roberta": ("roberta", [one, two], dynamic), "t5": ("t5", text, dynamic), "bart": ("bart", [one, two], dynamic)}


def draw(dice, family):
    """One setting that the library can run."""
    before, parallel = dice.random() < 0.5, dice.random() < 0.3
    residuals = [True, False] + (["post_add"] if before and not parallel and family in ("bert", "roberta", "bart") else [])
    places = [dict(mh_adapter=True, output_adapter=True), dict(mh_adapter=False, output_adapter=True),
              dict(mh_adapter=True, output_adapter=False)]
    factor = dice.choice([2, 4, 5.5, 0.5, {"0": 3, "default": 6}, {"1": 0.7, "default": 4}])
    gated = family != "t5" and dice.random() < 0.3  # a gate in a decoder would see what is written later
    return BnConfig(**dice.choice(places), cross_adapter=dice.random() < 0.5, reduction_factor=factor,
                    non_linearity=dice.choice(["relu", "gelu", "gelu_new", "swish", "tanh", "silu", "sigmoid"]),
                    original_ln_before=before, original_ln_after=dice.random() < 0.7,
                    residual_before_ln=dice.choice(residuals), ln_before=dice.random() < 0.4,
                    ln_after=dice.random() < 0.4, adapter_residual_before_ln=dice.random() < 0.4, is_parallel=parallel,
                    scaling=1.0 if gated else dice.choice([1.0, 1.0, 4.0, 0.5, "learned"]), use_gating=gated, leave_out=dice.choice([[], [], [0], [1]]))


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["--random"]:
        count, folder = int(sys.argv[2]), pathlib.Path(sys.argv[3])
        for number in range(int(sys.argv[4]) if len(sys.argv) > 4 else 0, count):
            dice = random.Random(number)
            family = dice.choice(["bert", "t5"])
            make(folder / f"{number:03d}-{family}", family, draw(dice, family), number, False)
        return
    for number, (name, (family, config)) in enumerate(CASES.items()):
        if not sys.argv[1:] or name in sys.argv[1:]:
            make(OUT / name, family, config, number, True)
            print(name)
    for number, (name, (family, configs, fusion)) in enumerate(fusions().items()):
        if not sys.argv[1:] or name in sys.argv[1:]:
            make_fusion(OUT.parent / ("fused-text" if family in ("t5", "bart") else "fused") / name, family, configs, fusion, 40 + number)
            print(name)


if __name__ == "__main__":
    main()
