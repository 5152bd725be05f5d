"""The pieces of peer_bench.py's work whose weights networks make: eight tasks in a batch, T5-small's shapes.

Written as one who knows PyTorch writes them: a network makes the weights of all layers, places and tasks in one
product, once a step; rows stand sorted by task and take their task's weights in one batched product; sources are
padded to the longest row of the batch.
"""
import torch
from torch import nn
from torch.nn import functional as F
from transformers import T5Config, T5ForConditionalGeneration

import peer_step

# Tokens of rows as long as GLUE's are: as tests/bench/bench_made.c has them.
GLUE = [(11, 13, 16, 20), (21, 31, 41, 54), (52, 68, 77, 90), (27, 32, 38, 62),
        (28, 33, 40, 55), (30, 42, 54, 72), (42, 54, 64, 82), (46, 63, 87, 128)]
TASKS, ROWS = len(GLUE), 4 * len(GLUE)
EMBEDDED, HIDDEN, INNER = 64, 128, 64


class Made:
    """What the step's adapters read: their weights, a block a row or a task, and each row's task."""
    task = torch.arange(TASKS).repeat_interleave(4)
    values = None  # {(stack, layer, place): {slot: rows or tasks × …}}
    by_row = False


def of_rows(values, slot):
    return values[slot] if Made.by_row else values[slot].index_select(0, Made.task)


class MadeAdapter(nn.Module):
    """y + the bottleneck of y (or of x, what the whole sublayer reads), with the step's weights."""

    def __init__(self, last, at, activation, parallel=None):
        super().__init__()
        self.last, self.at, self.activation, self.read = last, at, activation, None
        if parallel is not None:
            parallel.register_forward_pre_hook(self.keep)

    @property
    def weight(self):
        return self.last.weight

    def keep(self, _module, args):
        self.read = args[0]

    def forward(self, x):
        y, values = self.last(x), Made.values[self.at]
        read = y if self.read is None else self.read
        h = torch.baddbmm(of_rows(values, "b_d")[:, None], read, of_rows(values, "W_d").transpose(1, 2))
        h = torch.baddbmm(of_rows(values, "b_u")[:, None], self.activation(h), of_rows(values, "W_u").transpose(1, 2))
        if "gamma" in values:
            h = F.layer_norm(h, h.shape[-1:]) * of_rows(values, "gamma")[:, None] + of_rows(values, "beta")[:, None]
        return y + h


class SharedAdapter(nn.Module):
    """The FFN with a bottleneck of what it reads beside it."""

    def __init__(self, last, reads, width, size):
        super().__init__()
        self.last, self.down, self.up, self.read = last, nn.Linear(width, size), nn.Linear(size, width), None
        reads.register_forward_pre_hook(self.keep)

    @property
    def weight(self):
        return self.last.weight

    def keep(self, _module, args):
        self.read = args[0]

    def forward(self, x):
        return self.last(x) + self.up(F.relu(self.down(self.read)))


class Heads(nn.Module):
    """{slot: rows × …} out of a vector a row."""

    def __init__(self, inputs, width, size, norm):
        super().__init__()
        self.shape = {"W_d": (size, width), "b_d": (size,), "W_u": (width, size), "b_u": (width,)}
        if norm:
            self.shape |= {"gamma": (width,), "beta": (width,)}
        self.head = nn.ModuleDict({k: nn.Linear(inputs, torch.Size(s).numel()) for k, s in self.shape.items()})
        for head in self.head.values():
            nn.init.normal_(head.weight, std=0.01)
            nn.init.zeros_(head.bias)

    def forward(self, vectors):
        return {k: head(vectors).view(-1, *self.shape[k]) for k, head in self.head.items()}


class Network(nn.Module):
    """A stack's generator: all layers, places and tasks in one product."""

    def __init__(self, stack, layers, places, width, size, norm):
        super().__init__()
        self.stack, self.layers, self.places = stack, layers, places
        self.layer = nn.Parameter(torch.randn(layers, EMBEDDED))
        self.place = nn.Parameter(torch.randn(places, EMBEDDED)) if places > 1 else None
        inputs = EMBEDDED * (3 if places > 1 else 2)
        self.project = nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, INNER),
                                     nn.LayerNorm(INNER, eps=1e-6))
        self.heads = Heads(INNER, width, size, norm)

    def forward(self, task):
        shape = (self.layers, self.places, len(task), -1)
        parts = [task.expand(*shape), self.layer[:, None, None].expand(*shape)]
        if self.place is not None:
            parts.append(self.place[None, :, None].expand(*shape))
        values = self.heads(self.project(torch.cat(parts, -1)).flatten(0, 2))
        for k in values:
            values[k] = values[k].view(self.layers, self.places, len(task), *values[k].shape[1:])
        return {(self.stack, i, p): {k: v[i, p] for k, v in values.items()}
                for i in range(self.layers) for p in range(self.places)}


class Tuned(nn.Module):
    """T5 with random weights, frozen."""

    def __init__(self):
        super().__init__()
        self.config = T5Config(decoder_start_token_id=0)
        self.model = T5ForConditionalGeneration(self.config)
        self.model.requires_grad_(False)

    def blocks(self, stack):
        return enumerate((self.model.decoder if stack == "dec" else self.model.encoder).block)

    def beside_ffns(self, size, before_norm):
        """One adapter for all tasks in the encoder, made ones in the decoder."""
        for stack in ("enc", "dec"):
            for i, block in self.blocks(stack):
                ffn = block.layer[-1].DenseReluDense
                reads = block.layer[-1] if before_norm else ffn.wi
                ffn.wo = SharedAdapter(ffn.wo, reads, self.config.d_model, size) if stack == "enc" else \
                    MadeAdapter(ffn.wo, ("dec", i, 0), F.relu, reads)

    def pooled(self, hidden, mask):
        return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


class HyperFormer(Tuned):
    """HyperFormer++: one network a stack, behind self-attention and FFN; the norms are trained."""

    def __init__(self, size=16):
        super().__init__()
        config = self.config
        self.task = nn.Parameter(torch.randn(TASKS, EMBEDDED))
        self.net = nn.ModuleList([Network(s, config.num_layers, 2, config.d_model, size, True) for s in ("enc", "dec")])
        gelu = nn.GELU(approximate="tanh")
        for stack in ("enc", "dec"):
            for i, block in self.blocks(stack):
                attention, ffn = block.layer[0].SelfAttention, block.layer[-1].DenseReluDense
                attention.o = MadeAdapter(attention.o, (stack, i, 0), gelu)
                ffn.wo = MadeAdapter(ffn.wo, (stack, i, 1), gelu)
        for name, p in self.model.named_parameters():
            if "layer_norm" in name:
                p.requires_grad_(True)

    def loss(self, call):
        Made.values = {k: v for net in self.net for k, v in net(self.task).items()}
        return self.model(**call).loss


class Pha(Tuned):
    def __init__(self, size=64):
        super().__init__()
        width = self.config.d_model
        self.task = nn.Parameter(torch.randn(TASKS, EMBEDDED))
        self.net = Network("dec", self.config.num_layers, 1, width, size, False)
        self.retriever = nn.Sequential(nn.Linear(width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, EMBEDDED))
        self.beside_ffns(size, before_norm=False)

    def loss(self, call):
        Made.values = self.net(self.task)
        out = self.model(**call)
        z = F.normalize(self.retriever(self.pooled(out.encoder_last_hidden_state, call["attention_mask"])), dim=1)
        return out.loss + 0.1 * (supcon(z) + decoupled(z, F.normalize(self.task, dim=1)))


def supcon(z):
    f = (z @ z.T / 0.1).masked_fill(torch.eye(len(z), dtype=torch.bool), -torch.inf)
    positive = (Made.task[:, None] == Made.task).fill_diagonal_(False)
    log_p = f - f.logsumexp(1, keepdim=True)
    return -(log_p.masked_fill(~positive, 0).sum(1) / positive.sum(1)).mean()


def decoupled(z, k):
    f, own = z @ k.T / 0.1, F.one_hot(Made.task, TASKS).bool()
    return (f.masked_fill(own, -torch.inf).logsumexp(1) - f[own]).mean()


class HyperDecoder(Tuned):
    """Weights of each row's own, out of the mean of what the encoder makes of it."""

    def __init__(self, size=64):
        super().__init__()
        width, layers = self.config.d_model, self.config.num_layers
        self.mix = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.layer = nn.Parameter(torch.randn(layers, 10))
        self.project = nn.Sequential(nn.Linear(width + 10, HIDDEN), nn.ReLU())
        self.heads = Heads(HIDDEN, width, size, False)
        self.beside_ffns(size, before_norm=True)

    def loss(self, call):
        encoded = self.model.encoder(input_ids=call["input_ids"], attention_mask=call["attention_mask"])
        g = self.mix(self.pooled(encoded.last_hidden_state, call["attention_mask"]))
        shape = (len(self.layer), len(g), -1)
        made = self.heads(self.project(torch.cat([g.expand(*shape), self.layer[:, None].expand(*shape)], 2)).flatten(0, 1))
        made = {k: v.view(len(self.layer), len(g), *v.shape[1:]) for k, v in made.items()}
        Made.by_row, Made.values = True, {("dec", i, 0): {k: v[i] for k, v in made.items()} for i in range(len(self.layer))}
        return self.model(encoder_outputs=encoded, attention_mask=call["attention_mask"], labels=call["labels"]).loss


KINDS = {"hyperformer++-t5-small": HyperFormer, "pha-t5-small": Pha, "hyperdecoder-t5-small": HyperDecoder}


def batch():
    """The arguments of the model's call: all rows, sorted by task, targets a token and the end."""
    lengths = [n for task in GLUE for n in task]
    mask = torch.tensor([[1] * n + [0] * (max(lengths) - n) for n in lengths])
    ids = torch.randint(2, 32000, mask.shape) * mask
    labels = torch.stack([3 + torch.arange(ROWS) % 4 * 131, torch.ones(ROWS, dtype=torch.long)], 1)
    return dict(input_ids=ids, attention_mask=mask, labels=labels)


def train(work, steps, warm, precision):
    """(seconds of each step, warm ones first, [(tokens, padded tokens)] likewise), both sides' tokens."""
    net = KINDS[work]().train()
    optimiser = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)
    seconds, sizes = [], []
    for _ in range(warm + steps):
        call = batch()
        clock = peer_step.Clock()
        with peer_step.precise(precision):
            loss = net.loss(call)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        seconds.append(clock.read())
        new = call["labels"].numel()
        sizes.append((int(call["attention_mask"].sum()) + new, call["input_ids"].numel() + new))
    return seconds, sizes
