"""The piece of peer_bench.py's work that is a loop over episodes: Meta-Adapters as released, MiniLM's shapes, first order.

Written as one who knows PyTorch writes it: the inner loop moves the adapted parameters in place by gradients of
torch.autograd.grad and puts them back afterwards, so that no graph is kept over steps; the label vectors are made once
before the loop and once more for their gradients; rows have one length, so nothing is padded.  An episode is what
tests/bench/bench_made.c makes: 20 rows of two classes in four batches and 10 further ones, rows of 32 tokens.
"""
import torch
from torch import nn
from torch.nn import functional as F
from transformers import BertConfig, BertModel

import peer_step

EPISODES, SUPPORT, QUERY, INNER, LENGTH, CLASSES = 16, 20, 10, 4, 32, 2
BATCH, SIZE, RATE = SUPPORT // INNER, 8, 0.01


class Adapter(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down, self.up = nn.Linear(width, SIZE), nn.Linear(SIZE, width)
        for p in (self.down, self.up):
            nn.init.trunc_normal_(p.weight, std=0.02)
            nn.init.zeros_(p.bias)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class Adapted(nn.Module):
    """A sublayer's last product with the outer loop's adapter and the inner loop's behind it."""

    def __init__(self, last, width):
        super().__init__()
        self.last, self.outer, self.inner = last, Adapter(width), Adapter(width)

    def forward(self, x):
        return self.inner(self.outer(self.last(x)))


def mapping(width, hidden, out):
    return nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, out))


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
        self.bert, width = BertModel(config), config.hidden_size
        self.bert.requires_grad_(False)
        for layer in self.bert.encoder.layer:
            layer.attention.output.dense = Adapted(layer.attention.output.dense, width)
            layer.output.dense = Adapted(layer.output.dense, width)
        for name, p in self.bert.named_parameters():
            if "LayerNorm" in name:
                p.requires_grad_(True)
        self.feature, self.label = mapping(width, 384, 256), mapping(width, 384, 257)
        self.dropout = nn.Dropout(0.1)
        self.inner = [p for n, p in self.bert.named_parameters() if ".inner." in n or "LayerNorm" in n]
        self.rates = nn.Parameter(torch.full((len(self.inner) + 1,), RATE))

    def pooled(self, ids):
        return self.dropout(self.bert(input_ids=ids).pooler_output)

    def vectors(self, ids, labels):
        made = self.label(self.pooled(ids))
        return torch.stack([made[labels == k].mean(0) for k in range(CLASSES)])

    def loss(self, ids, labels, vectors):
        f = self.feature(self.pooled(ids))
        return F.cross_entropy(f @ vectors[:, :-1].T + vectors[:, -1], labels)

    def episode(self, ids, labels):
        """Adds the outer gradients of an episode."""
        first = slice(0, BATCH)
        with torch.no_grad():
            vectors, start = self.vectors(ids[first], labels[first]), [p.detach().clone() for p in self.inner]
        total = None
        for s in range(INNER):
            rows = slice(s * BATCH, (s + 1) * BATCH)
            vectors.requires_grad_(True)
            slope = torch.autograd.grad(self.loss(ids[rows], labels[rows], vectors), [*self.inner, vectors])
            with torch.no_grad():
                torch._foreach_sub_([p.data for p in self.inner], torch._foreach_mul(slope[:-1], self.rates[:-1].tolist()))
                vectors = vectors - self.rates[-1] * slope[-1]
                total = list(slope) if total is None else torch._foreach_add(total, slope)
        query = slice(SUPPORT, SUPPORT + QUERY)
        vectors.requires_grad_(True)
        before = [None if p.grad is None else p.grad.clone() for p in self.inner]
        for p in self.inner:
            p.grad = None
        (self.loss(ids[query], labels[query], vectors) / EPISODES).backward()
        with torch.no_grad():
            moved = [-(t * g).sum() for t, g in zip(total, [p.grad for p in self.inner] + [vectors.grad])]
            moved = torch.stack(moved)
            self.rates.grad = moved if self.rates.grad is None else self.rates.grad + moved
            for p, b, at in zip(self.inner, before, start):
                p.grad = p.grad if b is None else p.grad + b
                p.data.copy_(at)
        self.vectors(ids[first], labels[first]).backward(vectors.grad)


def train(steps, warm):
    """(seconds of each step, warm ones first, [(tokens, padded tokens)] likewise), of all passes."""
    net = Learner().train()
    optimiser = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)
    seconds, rows = [], SUPPORT + QUERY + 2 * BATCH
    for _ in range(warm + steps):
        ids = torch.randint(1000, 30000, (EPISODES, SUPPORT + QUERY, LENGTH))
        labels = torch.arange(SUPPORT + QUERY).remainder(CLASSES)
        clock = peer_step.Clock()
        for e in range(EPISODES):
            net.episode(ids[e], labels)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        with torch.no_grad():
            net.rates.clamp_(1e-8, 1)
        seconds.append(clock.read())
    tokens = EPISODES * rows * LENGTH
    return seconds, [(tokens, tokens)] * (warm + steps)
