#!/usr/bin/env python3
"""petri and PyTorch on the same work, in turns (A B A B), with the medians and their ratios.

    python tests/reference/compare_bench.py [--rounds 2] [--threads 1,2] [--works NAME,…]
                                              [--precision f32|bf16] [--json]

Run it with the Python of the reference environment, build/bench built (`make build/bench`), from the project's root.  A round is
one process of each; seconds are the sums of the counted steps.  A ratio above 1 says that petri needs less;
cpu is that of processor seconds, which other programs disturb less.
"""
import argparse
import json
import os
import statistics
import subprocess

import peer_bench
import peer_causal
import sst2

BENCH = os.path.join(sst2.ROOT, "build", "bench")


def model_of(work):
    if "-smol-" in work:
        return peer_causal.MODEL
    return os.path.join(os.path.dirname(sst2.MODEL), "flan-t5-small") if "-t5-" in work else sst2.MODEL


def petri(work, threads, precision):
    command = [BENCH, "--peer-work", work, "--threads", str(threads), "--precision", precision, "--json"]
    if work not in peer_bench.MADE:
        data = peer_causal.DATA if "-smol-" in work else sst2.DATA
        command += ["--task", data, "--model", model_of(work)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}")
    return json.loads(run.stdout.splitlines()[-1])


def middle(runs, key):
    return statistics.median(r[key] for r in runs)


def compare(work, threads, rounds, precision):
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(petri(work, threads, precision))
        theirs.append(peer_bench.measure_apart(work, threads, precision))
    return {
        "work": work, "threads": threads, "precision": precision, "rounds": rounds, "steps": theirs[0]["steps"],
        "petri_seconds": middle(ours, "seconds"), "torch_seconds": middle(theirs, "seconds"),
        "petri_peak_bytes": middle(ours, "peak_bytes"), "torch_peak_bytes": middle(theirs, "peak_bytes"),
        "tokens": theirs[0]["tokens"], "padded": theirs[0]["padded"], "petri_tokens": ours[0]["tokens"],
        "speed": middle(theirs, "seconds") / middle(ours, "seconds"),
        "petri_cpu": middle(ours, "cpu"), "torch_cpu": middle(theirs, "cpu"),
        "cpu": middle(theirs, "cpu") / middle(ours, "cpu"),
        "memory": middle(ours, "peak_bytes") / middle(theirs, "peak_bytes"),
    }


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--threads", default="1,2")
    p.add_argument("--works", help="default: all in that precision")
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    p.add_argument("--json", action="store_true", help="one object a line instead of a table")
    args = p.parse_args()
    if not args.json:
        print(f"{'work':24} {'threads':>7} {'petri s':>9} {'torch s':>9} {'speed':>7} {'cpu':>7}"
              f" {'petri MB':>9} {'torch MB':>9} {'memory':>7}")
    every = [w for w in peer_bench.WORKS if args.precision == "f32" or w not in peer_bench.IN_F32]
    for work in args.works.split(",") if args.works else every:
        if work not in peer_bench.MADE and not os.path.isdir(sst2.DATA):
            print(f"skipped: {work}: no {sst2.DATA} (PETRI_DATA names the data folder)")
            continue
        if work not in peer_bench.MADE and "-t5-" in work and not os.path.isdir(model_of(work)):
            print(f"skipped: {work}: no {model_of(work)} (make t5 brings it)")
            continue
        if "-smol-" in work and not os.path.isdir(peer_causal.MODEL):
            print(f"skipped: {work}: no {peer_causal.MODEL} (make smol brings it)")
            continue
        for threads in map(int, args.threads.split(",")):
            r = compare(work, threads, args.rounds, args.precision)
            if args.json:
                print(json.dumps(r), flush=True)
            else:
                print(f"{work:24} {threads:7} {r['petri_seconds']:9.2f} {r['torch_seconds']:9.2f}"
                      f" {r['speed']:6.2f}× {r['cpu']:6.2f}× {r['petri_peak_bytes'] / 1e6:9.0f}"
                      f" {r['torch_peak_bytes'] / 1e6:9.0f} {r['memory']:6.2f}×", flush=True)


if __name__ == "__main__":
    main()
