#!/usr/bin/env python3
"""PREFIX_TUNING as the library peft saves it, flat and with prefix_projection, and what a BERT answers with it.

    make_prefix.py              writes tests/reference/adapters/prefix/ and prefix-projection/, of the rows of make_adapters.py

No current pair of peft and transformers runs such a prefix on a BERT, so the forward pass is stated again below, as peft 0.11.1
has it: each layer's keys and values of the prefix stand before the text's, and the text's positions begin behind them.
"""
import shutil

import torch
from peft import PrefixTuningConfig, get_peft_model
from safetensors.torch import load_file
from torch.nn.functional import gelu, layer_norm, linear
from transformers import AutoTokenizer

from make_adapters import BASE, HEAD, OUT, base, rows

ADAPTERS = {
    "prefix": PrefixTuningConfig(num_virtual_tokens=3, **HEAD),
    "prefix-projection": PrefixTuningConfig(num_virtual_tokens=2, prefix_projection=True, encoder_hidden_size=7, **HEAD),
}


def save(name, config):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(13)
    model = get_peft_model(base(), config)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.15 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
    text = (folder / "adapter_config.json").read_text()
    (folder / "adapter_config.json").write_text(text.replace(str(BASE), "bert-tiny"))
    return folder


def answer(model, saved, ids):
    """One text's probabilities, in 64 bits."""
    w = {k: v.double() for k, v in model.state_dict().items()}
    w.update({k.removeprefix("base_model."): v.double() for k, v in saved.items()})
    c, prefix = model.config, w["prompt_embeddings"]
    heads, n, l = c.num_attention_heads, len(ids), len(prefix)
    parts = prefix.view(l, 2 * c.num_hidden_layers, heads, -1)

    def norm(x, at):
        return layer_norm(x, x.shape[-1:], w[at + ".weight"], w[at + ".bias"], c.layer_norm_eps)

    def dense(x, at):
        return linear(x, w[at + ".weight"], w[at + ".bias"])

    e = "bert.embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][l:l + n] + w[e + "token_type_embeddings.weight"][0]
    x = norm(x, e + "LayerNorm")
    for i in range(c.num_hidden_layers):
        at = f"bert.encoder.layer.{i}."
        q, k, v = (dense(x, at + f"attention.self.{m}").view(n, heads, -1) for m in ("query", "key", "value"))
        k, v = torch.cat([parts[:, 2 * i], k]), torch.cat([parts[:, 2 * i + 1], v])
        share = torch.softmax(torch.einsum("nhd,mhd->hnm", q, k) / q.shape[-1] ** 0.5, -1)
        made = torch.einsum("hnm,mhd->nhd", share, v).reshape(n, -1)
        x = norm(x + dense(made, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        x = norm(x + dense(gelu(dense(x, at + "intermediate.dense")), at + "output.dense"), at + "output.LayerNorm")
    pooled = torch.tanh(dense(x[:1], "bert.pooler.dense"))
    return torch.softmax(dense(pooled, "classifier")[0], -1).tolist()


def main():
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    for name, config in ADAPTERS.items():
        folder = save(name, config)
        saved, model = load_file(folder / "adapter_model.safetensors"), base()
        lines = [answer(model, saved, tokenizer(t)["input_ids"]) for t in rows(tokenizer)]
        (folder / "probabilities.txt").write_text("".join(" ".join(f"{p:.9f}" for p in line) + "\n" for line in lines))
        print(name)


if __name__ == "__main__":
    main()
