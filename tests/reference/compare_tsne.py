#!/usr/bin/env python3
"""compare_tsne.py [WORKERS] [FILE.npy]: petri's map beside openTSNE's and scikit-learn's.

The digits of scikit-learn, or the rows of a .npy file.  All three run in turns on the same
rows with the same number of threads, set-up included (petri: the whole program, reading the
CSV too); all layouts are judged by one exact evaluator in double on one P (perplexity 30).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

WORKERS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(WORKERS)
import numpy as np
import openTSNE
from openTSNE.affinity import PerplexityBasedNN
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

ROOT = pathlib.Path(__file__).parents[2]
ROUNDS = 3


def neighbours(x):
    return NearestNeighbors(n_neighbors=10, algorithm="brute").fit(x).kneighbors(return_distance=False)


def petri(csv):
    out = subprocess.run([ROOT / "petri", "map", "--vectors", csv, "--workers", str(WORKERS), "--json"], check=True,
                         capture_output=True, text=True).stdout
    return np.array(json.loads(out)["points"])


def main():
    x = np.load(sys.argv[2]).astype("f8") if len(sys.argv) > 2 else load_digits().data
    p = PerplexityBasedNN(x, perplexity=30, method="exact").P.tocoo()
    share = p.data / p.data.sum()
    near = neighbours(x)

    def divergence(y):
        q = 1 / (1 + (y[:, None, 0] - y[None, :, 0]) ** 2 + (y[:, None, 1] - y[None, :, 1]) ** 2)
        np.fill_diagonal(q, 0)
        return (share * np.log(share / (q[p.row, p.col] / q.sum()))).sum()

    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        np.savetxt(f, x, fmt="%.9g", delimiter=",", comments="",
                   header=",".join(f"v{i}" for i in range(x.shape[1])))
        f.flush()
        peers = {
            "petri": lambda: petri(f.name),
            "openTSNE": lambda: np.array(openTSNE.TSNE(perplexity=30, random_state=1, n_jobs=WORKERS).fit(x)),
            "scikit-learn": lambda: TSNE(perplexity=30, random_state=1, n_jobs=WORKERS).fit_transform(x),
        }
        seconds, layout = {name: [] for name in peers}, {}
        for _ in range(ROUNDS):
            for name, fit in peers.items():
                start = time.perf_counter()
                layout[name] = fit().astype("f8")
                seconds[name].append(time.perf_counter() - start)
    print(f"{len(x)} points of {x.shape[1]} values, {WORKERS} thread(s), median of {ROUNDS} rounds in turns")
    for name, y in layout.items():
        kept = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(near, neighbours(y))])
        median = np.median(seconds[name])
        print(f"{name:13} divergence {divergence(y):.4f}  10 neighbours kept {kept:.4f}  {median:7.2f} s  "
              f"{median / np.median(seconds['petri']):5.1f} times petri's")


main()
