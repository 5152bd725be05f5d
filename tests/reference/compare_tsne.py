#!/usr/bin/env python3
"""compare_tsne.py [--threads 1,2] [--rounds N] [--tasks A,B] [FILE.npy]: petri's map beside openTSNE's and
scikit-learn's.

The digits of scikit-learn, the rows of a .npy file, or with --tasks the vectors that `petri embed` makes of
two tasks' rows with the default model (2,000 rows, last layer, scaled to length 1; kept in a temporary
database).  All three run in turns on the same rows with the same number of threads, set-up included (petri:
the whole program, reading the CSV too); all layouts are judged by one exact evaluator in double on one P
(perplexity 30).
"""
import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks")
    parser.add_argument("file", nargs="?")
    return parser.parse_args()


def embed(tasks):
    """Vectors of both tasks' rows, as petri keeps them."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        db = f"{folder}/vectors.db"
        subprocess.run([ROOT / "petri", "embed", "--task", tasks, "--rows", "2000", "--db", db, "--json"], check=True,
                       stdout=subprocess.DEVNULL, cwd=ROOT)
        rows, columns, data = sqlite3.connect(db).execute("SELECT rows, columns, data FROM embedding").fetchone()
    x = np.frombuffer(data, "<f4").reshape(rows, columns).astype("f8")
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def compare(x, threads, rounds):
    import numpy as np
    import openTSNE
    from openTSNE.affinity import PerplexityBasedNN
    from sklearn.manifold import TSNE
    from sklearn.neighbors import NearestNeighbors

    def neighbours(points):
        return NearestNeighbors(n_neighbors=10, algorithm="brute").fit(points).kneighbors(return_distance=False)

    def petri(csv):
        out = subprocess.run([ROOT / "petri", "map", "--vectors", csv, "--workers", str(threads), "--json"], check=True,
                             capture_output=True, text=True).stdout
        return np.array(json.loads(out)["points"])

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
            "openTSNE": lambda: np.array(openTSNE.TSNE(perplexity=30, random_state=1, n_jobs=threads).fit(x)),
            "scikit-learn": lambda: TSNE(perplexity=30, random_state=1, n_jobs=threads).fit_transform(x),
        }
        seconds, layout = {name: [] for name in peers}, {}
        for _ in range(rounds):
            for name, fit in peers.items():
                start = time.perf_counter()
                layout[name] = fit().astype("f8")
                seconds[name].append(time.perf_counter() - start)
    print(f"{len(x)} points of {x.shape[1]} values, {threads} thread(s), median of {rounds} round(s) in turns")
    kl = {name: divergence(y) for name, y in layout.items()}
    kept = {name: np.mean([len(set(a) & set(b)) / 10 for a, b in zip(near, neighbours(y))]) for name, y in layout.items()}
    for name in layout:
        median = np.median(seconds[name])
        print(f"{name:13} divergence {kl[name]:.4f}  10 neighbours kept {kept[name]:.4f}  {median:7.2f} s  "
              f"{median / np.median(seconds['petri']):5.1f} times petri's")
    print(f"petri's divergence is {kl['petri'] / kl['openTSNE']:.4f} of openTSNE's, "
          f"{kl['petri'] / kl['scikit-learn']:.4f} of scikit-learn's; neighbours kept "
          f"{kept['petri'] - kept['openTSNE']:+.4f} and {kept['petri'] - kept['scikit-learn']:+.4f}")


def main():
    a = arguments()
    counts = a.threads.split(",")
    if len(counts) > 1:  # libraries read their number of threads when they are loaded
        rest = [f"--rounds={a.rounds}"] + ([f"--tasks={a.tasks}"] if a.tasks else []) + ([a.file] if a.file else [])
        for n in counts:
            subprocess.run([sys.executable, __file__, f"--threads={n}", *rest], check=True)
        return
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = counts[0]
    import numpy as np
    from sklearn.datasets import load_digits

    if a.tasks:
        x = embed(a.tasks)
    else:
        x = np.load(a.file).astype("f8") if a.file else load_digits().data
    compare(x, int(counts[0]), a.rounds)


main()
