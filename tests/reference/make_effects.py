"""Effects of 200 tables by statsmodels' OLS, for tests/analysis/axis_effects_test.c, which draws the same tables.

Run with the reference environment's Python and statsmodels; writes effects.txt beside this script: a line an effect,
"table factor other level level2 value low high", or "open" where it cannot be estimated.
"""
import itertools
import pathlib

import numpy as np
import statsmodels.api as sm


class Draw:
    def __init__(self, seed):
        self.state = seed

    def number(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def share(self):
        return self.number(2**31) / 2**31


def table(t):
    """Levels (or None: a line), their column of each row, and y."""
    d = Draw(t + 1)
    count = 1 + d.number(3)
    levels = [2 + d.number(3) for _ in range(count)]
    line = t % 5 == 4
    kind = t % 3
    if kind == 0:
        grid = list(itertools.product(*[range(n) for n in levels])) * 2
        columns = [[row[f] for row in grid] for f in range(count)]
    else:
        rows = 12 + d.number(30)
        columns = [[d.number(n) for _ in range(rows)] for n in levels]
        if kind == 2 and count > 1:
            columns[1] = [v % levels[1] for v in columns[0]]
    rows = len(columns[0])
    if line:
        columns.append([d.share() for _ in range(rows)])
        levels.append(None)
    return levels, columns, np.array([d.share() for _ in range(rows)])


def coded(level, n):
    return [1.0 if level == c else -1.0 if level == n - 1 else 0.0 for c in range(n - 1)]


def design(levels, columns):
    blocks = []
    for n, column in zip(levels, columns):
        if n is None:
            blocks.append(np.array([[v - np.mean(column)] for v in column]))
        else:
            blocks.append(np.array([coded(v, n) for v in column]))
    return blocks


def told(x, y, c):
    x = np.asarray(x)
    if np.abs(np.linalg.pinv(x) @ x @ c - c).max() > 1e-8:
        return "open"
    fit = sm.OLS(y, x).fit()
    test = fit.t_test(c)
    low, high = test.conf_int()[0] if fit.df_resid > 0 else (np.nan, np.nan)
    return f"{float(test.effect[0]):.15g} {low:.15g} {high:.15g}"


def main():
    lines = []
    for t in range(200):
        levels, columns, y = table(t)
        blocks = design(levels, columns)
        x = np.hstack([np.ones((len(y), 1))] + blocks)
        at = 1
        for f, n in enumerate(levels):
            for level in [-1] if n is None else range(n):
                c = np.zeros(x.shape[1])
                if n is None:
                    c[at] = 1
                else:
                    c[0] = 1
                    c[at:at + n - 1] = coded(level, n)
                lines.append(f"{t} {f} -1 {level} -1 {told(x, y, c)}")
            at += blocks[f].shape[1]
        for a, b in itertools.combinations(range(len(levels)), 2):
            if levels[a] is None or levels[b] is None:
                continue
            products = np.array([[u * v for u in p for v in q] for p, q in zip(blocks[a], blocks[b])])
            z = np.hstack([x, products])
            for i, j in itertools.product(range(levels[a]), range(levels[b])):
                c = np.zeros(z.shape[1])
                c[x.shape[1]:] = [u * v for u in coded(i, levels[a]) for v in coded(j, levels[b])]
                lines.append(f"{t} {a} {b} {i} {j} {told(z, y, c)}")
    (pathlib.Path(__file__).parent / "effects.txt").write_text("\n".join(lines) + "\n")


main()
