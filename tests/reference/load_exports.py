#!/usr/bin/env python3
"""What petri writes, loaded by the libraries that it is for.

    load_exports.py peft PETRI      PEFT's folders, and merged models by transformers
    load_exports.py hub PETRI       AdapterHub's folders
    load_exports.py causal PETRI    PEFT's folders and merged models of decoder-only models

Imports each fixture of adapters/ into a new history, exports it, loads that with the library and compares its answers to the
64 rows of adapters/rows.txt with those in the fixture.  Prints a line for each, in the form of the tables in docs/loaded.md.
Those of families/peft, of RoBERTa, T5, BART and mBART, are compared by their logits in 64 bits.  Of a kind that an export refuses the line has petri's reason.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

HERE = pathlib.Path(__file__).resolve().parent
BASE, OUT = HERE / "bert-tiny", HERE / "adapters"
MERGED = ("lora", "dora", "vera", "adalora", "ia3", "lora-patterns")


def petri(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    return done.stdout, done.stderr.strip() if done.returncode else None


def exported(program, name, form, work, adapter=None, base=BASE):
    db, out = str(work / "history.db"), work / f"{name}-{form}"
    text, why = petri(program, "import", str(adapter or OUT / name), "--model", str(base), "--db", db, "--json")
    if why:
        return None, why
    _, why = petri(program, "export", str(json.loads(text)["id"]), "--to", form, str(out), "--db", db)
    return out, why


def peft_model(folder):
    from peft import PeftModel
    torch.manual_seed(99)  # nothing of a head that is made here may matter
    return PeftModel.from_pretrained(AutoModelForSequenceClassification.from_pretrained(BASE, num_labels=3), folder).eval()


def hf_model(folder):
    return AutoModelForSequenceClassification.from_pretrained(folder).eval()


def hub_model(folder):
    from adapters import AutoAdapterModel
    torch.manual_seed(99)
    model = AutoAdapterModel.from_pretrained(BASE)
    name = model.load_adapter(str(folder), use_safetensors=True, set_active=True)
    model.active_head = name
    return model.eval()


def apart(model, name, tokenizer):
    worst = 0
    texts = (OUT / "rows.txt").read_text().splitlines()
    for text, line in zip(texts, (OUT / name / "probabilities.txt").read_text().splitlines()):
        with torch.no_grad():
            got = torch.softmax(model(**tokenizer(text, return_tensors="pt")).logits[0].double(), -1)
        worst = max(worst, *(abs(a - float(b)) for a, b in zip(got.tolist(), line.split())))
    return worst


def check(program, name, form, load, work, tokenizer):
    folder, why = exported(program, name, form, work)
    if why:
        print(f"| {name} | {form} | refused: {why.split(': ', 1)[-1].replace(str(work), '')} |")
        return
    try:
        print(f"| {name} | {form} | {apart(load(folder), name, tokenizer):.1e} |", flush=True)
    except Exception as fault:  # the library's own
        print(f"| {name} | {form} | loaded, not run by the library: {type(fault).__name__}: {str(fault)[:80]} |")


def check_family(program, adapter, work):
    """One of families/peft: the logits of its model's rows, in 64 bits, as it is saved there."""
    from peft import PeftModel
    from safetensors.torch import load_file
    import make_peft
    base = adapter.name.split(".")[0]
    folder, why = exported(program, adapter.name, "peft", work, adapter, pathlib.Path(make_peft.FOLDER) / base)
    if why:
        print(f"| {adapter.name} | peft | refused: {why.split(': ', 1)[-1].replace(str(work), '')} |")
        return
    model, family = make_peft.load(base)
    tuned = PeftModel.from_pretrained(model, folder).eval().double()
    with torch.no_grad():
        logits = make_peft.run(tuned, make_peft.call_of(tuned, family, str(pathlib.Path(make_peft.FOLDER) / base)), family)[0]
    print(f"| {adapter.name} | peft | {(logits - load_file(adapter / 'truth.safetensors')['logits']).abs().max().item():.1e} |", flush=True)


def check_causal(program, adapter, form, work):
    """One of causal/peft, likewise; merged by petri in 32 bits."""
    from peft import PeftModel
    from safetensors.torch import load_file
    import make_peft_causal as made
    base, kind = adapter.name.split(".", 1)
    path = pathlib.Path(made.FOLDER) / base
    folder, why = exported(program, adapter.name, form, work, adapter, path)
    if why:
        print(f"| {adapter.name} | {form} | refused: {why.split(': ', 1)[-1].replace(str(work), '')} |")
        return
    if form == "peft":
        model = PeftModel.from_pretrained(made.load(base, kind), folder)
    else:
        auto = made.AutoModelForSequenceClassification if kind.startswith("classes") else made.AutoModelForCausalLM
        model = auto.from_pretrained(folder, attn_implementation="eager")
    model = model.eval().double()
    ids = load_file(path / "expected.safetensors")["ids"][None]
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0]
    if not kind.startswith("classes"):
        logits = logits[-ids.shape[1]:].reshape(-1)[::16]
    print(f"| {adapter.name} | {form} | {(logits - load_file(adapter / 'truth.safetensors')['logits']).abs().max().item():.1e} |",
          flush=True)


def main():
    kind, program = sys.argv[1:3]
    if kind == "causal":
        with tempfile.TemporaryDirectory() as work:
            for form in ("peft", "hf"):
                for adapter in sorted((HERE / "causal" / "peft").iterdir()):
                    check_causal(program, adapter, form, pathlib.Path(work))
        return
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    names = sorted(p.parent.name for p in OUT.glob("*/probabilities.txt"))
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name in names:
            if name.startswith("hub-") == (kind == "hub") and "second" not in name:
                check(program, name, kind, hub_model if kind == "hub" else peft_model, work, tokenizer)
        for adapter in sorted((HERE / "families" / "peft").iterdir()) if kind == "peft" else ():
            check_family(program, adapter, work)
        for name in MERGED if kind == "peft" else ():
            check(program, name, "hf", hf_model, work, tokenizer)


if __name__ == "__main__":
    main()
