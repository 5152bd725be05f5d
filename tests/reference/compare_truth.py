#!/usr/bin/env python3
"""Whether petri trains as well as PyTorch: the runs of train_truth.py again, in petri.

For each line of --torch that --petri lacks, `petri train` does the same work (method, seed, learning rate,
epochs, batch, clipping) in a database of its own; then the mean dev accuracies of each method are compared.
Prints a table; not zero when two means differ by more than two standard errors of their difference.
"""
import argparse
import collections
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import sst2

PETRI = os.path.join(sst2.ROOT, "petri")


def petri_run(line, workers):
    """One run of petri as a line like train_truth.py's, its accuracy that of the last evaluation."""
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "runs.db")
        command = [PETRI, "train", "--model", sst2.MODEL, "--json", "--db", database,
                   "--train", os.path.join(sst2.DATA, "train.tsv"),
                   "--dev", os.path.join(sst2.DATA, "dev_official.tsv"), "--text", "sentence", "--label", "label",
                   "--method", line["method"], "--lr", str(line["lr"]), "--seed", str(line["seed"]),
                   *(("--steps", str(line["steps"])) if line.get("steps") else ("--epochs", str(line["epochs"]))), "--batch", str(line["batch"]),
                   "--max-length", str(line["max_len"]), "--clip", str(line["clip"]), "--precision", "f32", "--workers", str(workers)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode:
            raise SystemExit(f"{' '.join(command)}\n{run.stderr[-2000:]}")
        lines = [json.loads(text) for text in run.stdout.splitlines()]
    scores = [e["metrics"]["accuracy"] for e in lines if e.get("event") == "evaluation" and e["split"] == "dev"]
    if not scores:
        raise SystemExit(f"{line['method']}: petri printed no evaluation")
    return {"name": line["name"], "method": line["method"], "seed": line["seed"], "lr": line["lr"],
            "dev_accuracy": scores, "weights_sha256": lines[-1].get("weights_sha256")}


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def final(lines):
    """{name: [last accuracy of each seed, in percent]}"""
    by_name = collections.defaultdict(list)
    for line in lines:
        by_name[line["name"]].append(100 * line["dev_accuracy"][-1])
    return by_name


def standard_error(values):
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch", required=True)
    p.add_argument("--petri", required=True)
    p.add_argument("--workers", type=int, default=2)
    args = p.parse_args()
    theirs, ours = read(args.torch), read(args.petri)
    done = {(line["name"], line["seed"]) for line in ours}
    for line in theirs:
        if (line["name"], line["seed"]) not in done:
            ours.append(petri_run(line, args.workers))
            with open(args.petri, "a", encoding="utf-8") as f:
                f.write(json.dumps(ours[-1]) + "\n")
    torch, petri = final(theirs), final(ours)
    rates = {line["name"]: line["lr"] for line in theirs}
    apart = 0
    print("| method | lr | seeds | PyTorch, % | petri, % | difference | two standard errors |")
    print("|---|---|---|---|---|---|---|")
    for name, a in torch.items():
        b = petri[name]
        difference = statistics.mean(b) - statistics.mean(a)
        allowed = 2 * math.hypot(standard_error(a), standard_error(b))
        apart += abs(difference) > allowed
        print(f"| {name} | {rates[name]:g} | {len(a)} | {statistics.mean(a):.2f} ± {standard_error(a):.2f} |"
              f" {statistics.mean(b):.2f} ± {standard_error(b):.2f} | {difference:+.2f} | {allowed:.2f} |")
    print(f"{len(torch) - apart} methods agree, {apart} differ")
    return apart > 0


if __name__ == "__main__":
    sys.exit(main())
