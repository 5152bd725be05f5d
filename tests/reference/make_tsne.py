#!/usr/bin/env python3
"""Writes digits.bin and analysis.txt: scikit-learn's digits, and what the reference libraries
say about them (openTSNE and scikit-learn's t-SNE, silhouette, neighbours, CKA, scipy's linkage).

digits.bin: 1797 rows of 64 bytes (0-16), then 1797 labels.  analysis.txt: NAME VALUE… a line.
Both maps are judged by one exact evaluator in double on one P (perplexity 30, 90 neighbours).
"""
import os
import pathlib

os.environ.setdefault("OMP_NUM_THREADS", "2")
import numpy as np
import openTSNE
import scipy
import sklearn
from openTSNE.affinity import PerplexityBasedNN
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.linalg import orth, subspace_angles
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.neighbors import NearestNeighbors

HERE = pathlib.Path(__file__).parent


def neighbours(x, metric="euclidean"):
    return NearestNeighbors(n_neighbors=10, metric=metric, algorithm="brute").fit(x).kneighbors(
        return_distance=False)


def preservation(x, y):
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(neighbours(x), neighbours(y))])


def evaluator(x):
    p = PerplexityBasedNN(x, perplexity=30, method="exact").P.tocoo()
    share = p.data / p.data.sum()

    def divergence(y):
        y = y.astype("f8")
        q = 1 / (1 + ((y[:, None, :] - y[None, :, :]) ** 2).sum(-1))
        np.fill_diagonal(q, 0)
        return (share * np.log(share / (q[p.row, p.col] / q.sum()))).sum()

    return divergence


def cka(a, b):
    a, b = a - a.mean(0), b - b.mean(0)
    return np.linalg.norm(a.T @ b) ** 2 / np.linalg.norm(a.T @ a) / np.linalg.norm(b.T @ b)


def product(out, rank, width, shift):
    """U and V from sines of squares, so that the test can make them too."""
    u = np.sin(np.arange(out * rank) ** 2 * 0.37 + shift).reshape(out, rank)
    v = np.sin(np.arange(rank * width) ** 2 * 0.53 + shift).reshape(rank, width)
    return u @ v


def low_rank(a, b):
    def space(x, y):
        x, y = orth(x, rcond=1e-6), orth(y, rcond=1e-6)
        return (np.cos(subspace_angles(x, y)) ** 2).sum() / max(x.shape[1], y.shape[1])

    return (space(a, b) + space(a.T, b.T)) / 2


def main():
    x, label = load_digits(return_X_y=True)
    (HERE / "digits.bin").write_bytes(x.astype("u1").tobytes() + label.astype("u1").tobytes())
    lines = [f"# numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
             f"openTSNE {openTSNE.__version__}"]

    def add(name, *values):
        lines.append(" ".join([name] + [repr(v) if isinstance(v, int) else repr(float(v)) for v in values]))

    divergence = evaluator(x)
    maps = {"opentsne": np.array(openTSNE.TSNE(perplexity=30, random_state=1, n_jobs=2).fit(x)),
            "sklearn": TSNE(perplexity=30, random_state=1).fit_transform(x)}
    for name, y in maps.items():
        add(name + ".kl", divergence(y))
        add(name + ".preservation", preservation(x, y))
    pca = PCA(2, svd_solver="full").fit(x)
    add("pca.deviation", *pca.transform(x).std(0))
    add("pca.first", *np.abs(pca.transform(x)[0]))

    add("silhouette", silhouette_score(x, label, metric="cosine"))
    add("purity", np.mean(label[neighbours(x, "cosine")] == label[:, None]))
    plane = x @ np.sin(np.arange(128).reshape(64, 2) * 1.1)
    add("preservation", preservation(x * (1 + 0.1 * np.sin(np.arange(64))), plane))  # no equal distances
    center = np.array([x[label == c].mean(0) for c in range(10)])
    add("centroids", *pairwise_distances(center, metric="cosine")[0])
    add("cka", cka(x[:, :32], x[:, 32:]))
    add("cka.wide", cka(x[:20, :40], x[:20, 24:]))
    add("order", *[int(i) for i in leaves_list(linkage(pdist(x[:60], "cosine"), "average"))])
    add("low_rank", low_rank(product(24, 4, 16, 0), product(24, 4, 16, 1)))
    add("low_rank.ranks", low_rank(product(24, 4, 16, 0), product(24, 2, 16, 1)))
    (HERE / "analysis.txt").write_text("\n".join(lines) + "\n")


main()
