"""Makes metrics.txt: 200 random cases with the values of scikit-learn and scipy.

    python tests/reference/make_metrics.py

A case is a line "classes K POSITIVE" or "scores", a line of gold labels, one of predictions, and
one of values: accuracy, f1, macro f1, matthews, or pearson, spearman; "-" where undefined.
"""
import os
import random
import warnings

import numpy as np
from scipy import stats
from sklearn import metrics as sk

warnings.simplefilter("ignore")
rng = random.Random(11)


def show(v):
    return "-" if v is None else repr(float(v))


def classes(gold, pred, k, positive):
    f1 = None
    if positive in gold or positive in pred:
        f1 = sk.f1_score(gold, pred, labels=[positive], average="macro", zero_division=0)
    matthews = None
    if len(set(gold)) > 1 and len(set(pred)) > 1:
        matthews = sk.matthews_corrcoef(gold, pred)
    return [sk.accuracy_score(gold, pred), f1, sk.f1_score(gold, pred, average="macro", zero_division=0),
            matthews]


def scores(gold, pred):
    if len(gold) < 2 or len(set(gold)) < 2 or len(set(pred)) < 2:
        return [None, None]
    return [np.corrcoef(gold, pred)[0, 1] if len(gold) < 2 else stats.pearsonr(gold, pred)[0],
            stats.spearmanr(gold, pred)[0]]


def case(i):
    n = rng.choice([1, 2, 3, 5, 10, 40, 80])
    if i % 2:
        k = rng.choice([2, 2, 3, 5, 12])
        few = rng.choice([1, 2, k, k])
        gold = [rng.randrange(rng.choice([1, k])) if i % 9 == 0 else rng.randrange(min(few, k)) for _ in range(n)]
        skew = rng.random()
        pred = [g if rng.random() < skew else rng.randrange(k) for g in gold]
        if i % 11 == 0:
            pred = [rng.randrange(k)] * n
        positive = rng.randrange(k)
        return "classes %d %d" % (k, positive), gold, pred, classes(gold, pred, k, positive)
    grid = rng.choice([0, 1, 4])
    scale, shift = rng.choice([(1, 0), (5, 0), (1e-6, 3), (1e6, -1e7)])

    def draw():
        v = rng.random() * 5
        return float("%.9g" % ((round(v * grid) / grid if grid else v) * scale + shift))

    gold = [draw() for _ in range(n)]
    pred = [draw() if rng.random() < 0.5 else g for g in gold]
    if i % 14 == 0:
        pred = [pred[0]] * n
    return "scores", gold, pred, scores(gold, pred)


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "metrics.txt"), "w", newline="\n") as out:
    for i in range(200):
        head, gold, pred, values = case(i)
        out.write(head + "\n")
        out.write(" ".join(map(repr, gold)) + "\n" + " ".join(map(repr, pred)) + "\n")
        out.write(" ".join(map(show, values)) + "\n")
