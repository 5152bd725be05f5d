#!/usr/bin/env python3
"""Expected values of tiny decoder-only models, from PyTorch and transformers.

    make_causal.py [NAME…]     writes tests/reference/causal/NAME/, all without a name

Each folder has a random model as transformers saves it, and expected.safetensors:

  ids, types      I64: one sequence; lengths its length, labels a class that nothing reads
  target_out      I64: the token that each token has to predict, or −1; target_in and target_lengths as ids
  layer.0 … L     F64, tokens × d: the embeddings, and the output of each block before the final norm
  encoded         F64, after the final norm
  logits          F64, tokens × V
  loss            F64, mean over the labels
  grad.NAME       F64: of the gradient of the loss with respect to a tensor, NAME as in model.safetensors,
                  the values at the 64 places (i * 7919 + 13) mod size; of GPT-2 as in petri (parts_of)

Values are computed in float64.  transformers computes RMSNorm, rotary embeddings, softmax and the loss in float32 in a
float64 model as well, so these are restated here in float64; the program fails where the restated model differs from
transformers' own by more than 2e-6, or where the loss is not the one noted below.
"""
import json
import math
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import (AutoConfig, AutoModelForCausalLM, GPT2Config, LlamaConfig, MistralConfig, Qwen2Config,
                          Qwen3Config)

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "causal")
COMMON = dict(vocab_size=320, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=6,
              num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def rope(theta, **more):
    return dict(rope_parameters=dict({"rope_type": "default", "rope_theta": theta}, **more))


MODELS = {  # name: configuration, loss
    "llama": (LlamaConfig(rms_norm_eps=1e-5, tie_word_embeddings=True, **rope(1e4), **COMMON), 6.557776),
    "llama3": (LlamaConfig(rms_norm_eps=1e-5, tie_word_embeddings=False, **rope(
        5e5, rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32), **COMMON), 6.639668),
    "linear": (LlamaConfig(rms_norm_eps=1e-5, tie_word_embeddings=False,
                           **rope(1e4, rope_type="linear", factor=4.0), **COMMON), 6.670668),
    "yarn": (LlamaConfig(rms_norm_eps=1e-5, tie_word_embeddings=False, **rope(
        1e4, rope_type="yarn", factor=4.0, original_max_position_embeddings=16), **COMMON), 6.635883),
    "mistral": (MistralConfig(rms_norm_eps=1e-5, tie_word_embeddings=False, head_dim=12, sliding_window=5,
                              **rope(1e4), **COMMON), 5.839657),
    "qwen2": (Qwen2Config(rms_norm_eps=1e-6, tie_word_embeddings=True, **rope(1e6), **COMMON), 6.156294),
    "qwen3": (Qwen3Config(rms_norm_eps=1e-6, tie_word_embeddings=True, head_dim=16, **rope(1e6), **COMMON),
              6.000475),
    "gpt2": (GPT2Config(vocab_size=320, n_embd=48, n_layer=2, n_head=6, n_positions=64, bos_token_id=1,
                        eos_token_id=2, pad_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), 6.153750),
}


# ---- the restatement in float64 ----

def norm64(self, x):
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def frequencies(p, width):
    """Angles per position and the factor of cosines and sines, by "rope_type"."""
    f = [p["rope_theta"] ** (-2 * i / width) for i in range(width // 2)]
    kind, scale = p["rope_type"], 1.0
    if kind == "linear":
        f = [x / p["factor"] for x in f]
    if kind == "llama3":
        low, high, old = p["low_freq_factor"], p["high_freq_factor"], p["original_max_position_embeddings"]
        t = [min(max((old * x / (2 * math.pi) - low) / (high - low), 0), 1) for x in f]
        f = [(1 - a) * x / p["factor"] + a * x for a, x in zip(t, f)]
    if kind == "yarn":
        def pair(n):
            return width * math.log(p["original_max_position_embeddings"] / (2 * math.pi * n)) / (
                2 * math.log(p["rope_theta"]))
        first, last = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), width - 1)
        last += 0.001 if first == last else 0
        r = [min(max((i - first) / (last - first), 0), 1) for i in range(len(f))]
        f = [x * (1 - a) + x / p["factor"] * a for a, x in zip(r, f)]
        scale = 0.1 * math.log(p["factor"]) + 1
    return torch.tensor(f, dtype=torch.float64), scale


def softmax64(x, dim=-1, dtype=None, **_):
    return torch.softmax(x, dim)


def restate(model):
    torch.nn.functional.softmax = softmax64
    for m in model.modules():
        name = type(m).__name__
        if name.endswith("RMSNorm"):
            m.forward = norm64.__get__(m)
        if name.endswith("RotaryEmbedding"):
            width = getattr(model.config, "head_dim", None) or (
                model.config.hidden_size // model.config.num_attention_heads)
            f, scale = frequencies(model.config.rope_parameters, width)

            def forward(x, position_ids, f=f, scale=scale, **_):
                angle = position_ids[..., None].double() * f
                angle = torch.cat((angle, angle), -1)
                return angle.cos() * scale, angle.sin() * scale
            m.forward = forward


# ---- models ----

def fill(model, config):
    g = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn(p.shape, generator=g))
            else:
                p.copy_(0.15 * torch.randn(p.shape, generator=g))
    if config.tie_word_embeddings:
        model.tie_weights()


def read(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    return model.double().eval()


def run(model, ids, labels):
    blocks = []
    hooks = [layer.register_forward_hook(lambda m, a, out: blocks.append(out[0] if isinstance(out, tuple) else out))
             for layer in (model.transformer.h if hasattr(model, "transformer") else model.model.layers)]
    out = model(input_ids=ids, output_hidden_states=True)
    out.loss = torch.nn.functional.cross_entropy(out.logits[0, :-1], labels[0, 1:])
    for h in hooks:
        h.remove()
    return out, [out.hidden_states[0]] + blocks


def parts_of(key, x):
    """The maps of GPT-2 as outputs × inputs, those of queries, keys and values apart; other tensors as they are."""
    name, end = key.rsplit(".", 1)
    if "c_attn" in name:
        return [(f"{name}.{part}.{end}", y) for part, y in zip("qkv", x.t().chunk(3) if x.dim() == 2 else x.chunk(3))]
    return [(key, x.t() if x.dim() == 2 and ".c_" in name else x)]


def make(name):
    config, loss = MODELS[name]
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder, exist_ok=True)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float()
    fill(model, config)
    model.save_pretrained(folder)
    for extra in ("generation_config.json",):
        if os.path.exists(os.path.join(folder, extra)):
            os.remove(os.path.join(folder, extra))
    ids = torch.tensor([[1] + [(7 * i * i + 3 * i + 5) % 313 + 3 for i in range(19)]])
    labels = ids.clone()
    labels[:, :8] = -100
    own, _ = run(read(folder), ids, labels)
    model, softmax = read(folder), torch.nn.functional.softmax
    restate(model)
    out, layers = run(model, ids, labels)
    torch.nn.functional.softmax = softmax
    away = (out.logits - own.logits).abs().max().item()
    if away > 2e-6 or abs(out.loss.item() - loss) > 2e-6:
        raise SystemExit(f"{name}: {away:.2g} from transformers, loss {out.loss.item():.6f}, not {loss}")
    out.loss.backward()
    # Contiguous copies: safetensors refuses views of one memory.
    count = torch.tensor([ids.shape[1]])
    target = torch.cat((labels[0, 1:], torch.tensor([-100])))
    save = {"ids": ids[0], "types": 0 * ids[0], "lengths": count, "labels": 0 * count, "target_in": ids[0],
            "target_out": target.clamp(min=-1), "target_lengths": count, "encoded": out.hidden_states[-1][0], "logits": out.logits[0],
            "loss": out.loss.reshape(1)}
    save.update({f"layer.{i}": x[0] for i, x in enumerate(layers)})
    for key, p in model.named_parameters():
        for part, grad in parts_of(key, p.grad):
            places = [(i * 7919 + 13) % grad.numel() for i in range(64)]
            save["grad." + part] = grad.reshape(-1)[places]
    save_file({k: v.detach().clone().contiguous() for k, v in save.items()},
              os.path.join(folder, "expected.safetensors"))
    print(f"{name}: loss {out.loss.item():.6f}, {away:.2g} from transformers")


if __name__ == "__main__":
    for each in sys.argv[1:] or MODELS:
        make(each)
