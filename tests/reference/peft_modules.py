"""The tuning methods on transformers' BERT, written out in PyTorch.

attach(model, method, **sizes) freezes the model, adds the method's modules and returns the names and
tensors that are trained (the head is the caller's).  The definitions are the papers':

  lora              h + s·x·Aᵀ·Bᵀ on query and value; A Kaiming-uniform(√5), B zero (Hu et al. 2021)
  adapter-pfeiffer  reads LN(f + residual), writes f, the output of the FFN; relu, N(0, 0.02)
                    (Pfeiffer et al. 2021)
  mam               a flat prefix at every attention, N(0, 0.02), and a scaled parallel adapter at every
                    FFN, LoRA's initialisation (He et al. 2022)
  bitfit            every bias, the pooler's included (Ben Zaken et al. 2022)
  full              every tensor
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class LoraLinear(nn.Module):
    def __init__(self, linear, rank, scale):
        super().__init__()
        self.linear, self.scale = linear, scale
        self.a = nn.Parameter(torch.empty(rank, linear.in_features))
        self.b = nn.Parameter(torch.zeros(linear.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x):
        return self.linear(x) + self.scale * F.linear(F.linear(x, self.a), self.b)


class Bottleneck(nn.Module):
    """relu(x·W_d + b_d)·W_u + b_u"""

    def __init__(self, width, size, init):
        super().__init__()
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        for bias in (self.down.bias, self.up.bias):
            nn.init.zeros_(bias)
        if init == "lora":
            nn.init.kaiming_uniform_(self.down.weight, a=math.sqrt(5))
            nn.init.zeros_(self.up.weight)
        else:
            nn.init.normal_(self.down.weight, std=0.02)
            nn.init.normal_(self.up.weight, std=0.02)

    def forward(self, x):
        return self.up(F.relu(self.down(x)))


class PrefixAttention(nn.Module):
    """Self-attention with learned keys and values before the sequence's own; never masked."""

    def __init__(self, own, length):
        super().__init__()
        self.own = own
        width = own.all_head_size
        self.prefix_key = nn.Parameter(torch.empty(length, width).normal_(std=0.02))
        self.prefix_value = nn.Parameter(torch.empty(length, width).normal_(std=0.02))

    def heads(self, x):
        return x.view(*x.shape[:-1], self.own.num_attention_heads, -1).transpose(-3, -2)

    def forward(self, hidden_states, attention_mask=None, **_):
        own, rows = self.own, hidden_states.shape[0]
        q = self.heads(own.query(hidden_states))
        k, v = (torch.cat([self.heads(p).expand(rows, -1, -1, -1), self.heads(x)], dim=2)
                for p, x in ((self.prefix_key, own.key(hidden_states)),
                             (self.prefix_value, own.value(hidden_states))))
        if attention_mask is not None:  # bool: may be seen; float: is added
            free = 1 if attention_mask.dtype == torch.bool else 0
            attention_mask = F.pad(attention_mask, (self.prefix_key.shape[0], 0), value=free)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask,
                                             dropout_p=own.dropout.p if self.training else 0.0)
        return out.transpose(1, 2).flatten(2), None


class PfeifferOutput(nn.Module):
    """The FFN's output sublayer with an adapter on its normalized sum."""

    def __init__(self, own, size):
        super().__init__()
        self.own = own
        self.adapter = Bottleneck(own.dense.out_features, size, "bert")

    def forward(self, hidden_states, input_tensor):
        out = self.own.dropout(self.own.dense(hidden_states))
        normed = self.own.LayerNorm(out + input_tensor)
        return self.own.LayerNorm(out + self.adapter(normed) + input_tensor)


class ParallelOutput(nn.Module):
    """The FFN's output sublayer with a scaled adapter that reads the FFN's input."""

    def __init__(self, own, size, scale):
        super().__init__()
        self.own, self.scale = own, scale
        self.adapter = Bottleneck(own.dense.out_features, size, "lora")

    def forward(self, hidden_states, input_tensor):
        out = self.own.dropout(self.own.dense(hidden_states))
        return self.own.LayerNorm(out + self.scale * self.adapter(input_tensor) + input_tensor)


def attach(model, method, r=None, l=16, s=None):
    """Adds `method` to a BertModel in place; returns {name: trained tensor}."""
    every = dict(model.named_parameters())
    for p in every.values():
        p.requires_grad_(method == "full")
    if method == "bitfit":
        for name, p in every.items():
            p.requires_grad_(name.endswith("bias"))
    for layer in model.encoder.layer:
        attention = layer.attention.self
        if method == "lora":
            attention.query = LoraLinear(attention.query, r or 8, s or 2.0)
            attention.value = LoraLinear(attention.value, r or 8, s or 2.0)
        elif method == "adapter-pfeiffer":
            layer.output = PfeifferOutput(layer.output, r or 48)
        elif method == "mam":
            layer.attention.self = PrefixAttention(attention, l)
            layer.output = ParallelOutput(layer.output, r or 16, s or 2.0)
        elif method not in ("bitfit", "full", "head"):
            raise ValueError(f"unknown method {method}")
    return {name: p for name, p in model.named_parameters() if p.requires_grad}
