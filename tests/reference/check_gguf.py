#!/usr/bin/env python3
"""What petri writes as GGUF, read by gguf and computed by llama.cpp (the package xllamacpp), beside PEFT.

    check_gguf.py PETRI

Imports adapters as of causal/peft into a new history, exports each as an adapter and merged, and compares the log-probabilities
of the next token after prefixes of the model's ids with those of PEFT on the folder.  Prints a line for each; fails where
they differ by more than 1e-3 (F32), or where the metadata is not what llama.cpp needs.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import gguf
import torch
from peft import PeftModel
from safetensors.torch import load_file

import make_gguf
import make_peft_causal as made

ADAPTERS = ("llama.lora", "llama.lora-all", "llama.lora-layer", "llama.ia3", "qwen2.lora-all")
STEPS = (3, 8, 14, 20)


def petri(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def wanted(adapter, base, ids):
    model = PeftModel.from_pretrained(made.load(base, "lora"), adapter).eval()
    with torch.no_grad():
        logits = model(input_ids=ids[None]).logits[0].double()
    return torch.log_softmax(logits, -1)


def of_llama(model, lora, ids):
    """Log-probabilities after each prefix, in a process of its own: {id: ln p}."""
    own = [sys.executable, __file__, "--ask", str(model), str(lora or ""), json.dumps(ids)]
    done = subprocess.run(own, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def ask(model, lora, ids):
    import xllamacpp
    p = xllamacpp.CommonParams()
    p.model.path, p.n_ctx, p.n_gpu_layers, p.warmup, p.n_parallel = model, 64, 0, False, 1
    p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    if lora:
        p.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(lora, 1.0)]
    server, out = xllamacpp.Server(p), []
    for n in STEPS:
        said = server.handle_completions({"prompt": ids[:n], "n_predict": 1, "n_probs": 320, "temperature": 0, "cache_prompt": False})
        said = (json.loads(said) if isinstance(said, str) else said)["choices"][0]["logprobs"]
        # an end token comes without probabilities
        out.append({x["id"]: x["logprob"] for x in said["content"][0]["top_logprobs"]} if said else {})
    print(json.dumps(out))


def apart(got, right):
    return max(abs(p - right[n - 1][int(i)].item()) for n, step in zip(STEPS, got) for i, p in step.items())


def check(program, name, work):
    base, kind = name.split(".", 1)
    made.save(base, kind, work / "peft")
    adapter, folder = work / "peft" / name, pathlib.Path(made.FOLDER) / base
    ids = load_file(folder / "expected.safetensors")["ids"]
    db, right = str(work / f"{name}.db"), wanted(adapter, base, ids)
    run = str(json.loads(petri(program, "import", str(adapter), "--model", str(folder), "--db", db, "--json"))["id"])
    lora, plain = work / f"{name}.gguf", work / f"{base}-base.gguf"
    if "lora" in kind:
        petri(program, "export", run, "--to", "gguf", str(lora), "--db", db)
        make_gguf.write_model(base, str(plain))
        fields = {k: f.contents() for k, f in gguf.GGUFReader(lora).fields.items()}
        assert fields["general.type"] == "adapter" and fields["adapter.type"] == "lora" and fields["adapter.lora.alpha"] > 0
        worst = apart(of_llama(plain, lora, ids.tolist()), right)
        print(f"| {name} | gguf | {worst:.1e} |", flush=True)
        assert worst < 1e-3
    for form, most in (("f32", 1e-3), ("f16", 0.05), ("q8_0", 0.5)):
        whole = work / f"{name}.{form}.gguf"
        petri(program, "export", run, "--to", "gguf-merged", str(whole), "--outtype", form, "--db", db)
        types = {t.name: t.tensor_type.name for t in gguf.GGUFReader(whole).tensors}
        assert all(types[t] == "F32" for t in types if "norm" in t), types
        worst = apart(of_llama(whole, None, ids.tolist()), right)
        print(f"| {name} | gguf-merged {form} | {worst:.1e} |", flush=True)
        assert worst < most


def main():
    if sys.argv[1] == "--ask":
        return ask(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    with tempfile.TemporaryDirectory() as work:
        for name in ADAPTERS:
            check(sys.argv[1], name, pathlib.Path(work))


if __name__ == "__main__":
    main()
