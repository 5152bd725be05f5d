#!/usr/bin/env python3
"""GGUF files, by the package gguf.

    make_gguf.py            writes tests/reference/gguf/
    make_gguf.py --model    also writes /tmp/NAME.gguf for llama, qwen2 and qwen3 of tests/reference/causal

  llama.gguf              the model of causal/llama in F32 with its tokenizer and the template ChatML
  blocks.gguf             one tensor in each block format, and in F16 and BF16
  blocks.safetensors      F32: the values of these tensors

Bytes of blocks are random, except for scales, which are halves between -2 and 2.
"""
import json
import os
import sys

import gguf
import numpy as np
from safetensors.numpy import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "gguf")
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
OTHER = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
         "lm_head.weight": "output.weight"}
PRE = {"llama": "smollm", "qwen2": "qwen2", "qwen3": "qwen2"}
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
          "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
# Positions of half-precision scales in a block.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208]}


def renamed(name):
    if name in OTHER:
        return OTHER[name]
    _, _, layer, rest = name.split(".", 3)
    part, end = rest.rsplit(".", 1)
    return f"blk.{layer}.{LAYER[part]}.{end}"


def permuted(x, heads):
    """Rows of a head from halves to neighbors, as in llama.cpp's converter."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def add_tokenizer(w, folder, pre):
    """Of tokenizer.json; a file cannot say that blanks belong to an added token."""
    root = json.load(open(os.path.join(folder, "tokenizer.json")))
    added = {x["content"]: x for x in root["added_tokens"]}
    ids = dict(root["model"]["vocab"], **{x: added[x]["id"] for x in added})
    tokens = sorted(ids, key=ids.get)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    w.add_token_types([(3 if added[x]["special"] else 4) if x in added else 1 for x in tokens])
    w.add_token_merges([" ".join(x) for x in root["model"]["merges"]])
    w.add_chat_template(CHATML)


def write_model(name, path):
    folder = os.path.join(HERE, "causal", name)
    config = json.load(open(os.path.join(folder, "config.json")))
    kind, heads, keys = config["model_type"], config["num_attention_heads"], config["num_key_value_heads"]
    w = gguf.GGUFWriter(path, kind)
    w.add_block_count(config["num_hidden_layers"])
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(heads)
    w.add_head_count_kv(keys)
    w.add_layer_norm_rms_eps(config["rms_norm_eps"])
    w.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    if "head_dim" in config:
        w.add_key_length(config["head_dim"])
        w.add_value_length(config["head_dim"])
    add_tokenizer(w, folder, PRE[name])
    w.add_bos_token_id(config["bos_token_id"])
    w.add_eos_token_id(config["eos_token_id"])
    for key, x in load_file(os.path.join(folder, "model.safetensors")).items():
        if kind == "llama" and ("q_proj" in key or "k_proj" in key):
            x = permuted(x, heads if "q_proj" in key else keys)
        w.add_tensor(renamed(key), np.ascontiguousarray(x))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_blocks():
    rng = np.random.default_rng(5)
    w = gguf.GGUFWriter(os.path.join(FOLDER, "blocks.gguf"), "llama")
    values = {}
    for name, places in SCALES.items():
        kind = gguf.GGMLQuantizationType[name]
        width, size = gguf.GGML_QUANT_SIZES[kind]
        raw = rng.integers(0, 256, (2, 512 // width, size), dtype=np.uint8)
        for at in places:
            scale = rng.uniform(-2, 2, raw.shape[:2]).astype(np.float16)
            raw[:, :, at:at + 2] = scale[..., None].view(np.uint8)
        raw = raw.reshape(2, -1)
        w.add_tensor(name, raw, raw_dtype=kind)
        values[name] = gguf.dequantize(raw, kind).astype(np.float32)
    for name in ("F16", "BF16"):
        kind = gguf.GGMLQuantizationType[name]
        raw = gguf.quantize(rng.standard_normal((2, 30)).astype(np.float32), kind)
        w.add_tensor(name, raw, raw_dtype=kind)
        values[name] = gguf.dequantize(raw, kind).astype(np.float32)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    save_file(values, os.path.join(FOLDER, "blocks.safetensors"))


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    write_blocks()
    write_model("llama", os.path.join(FOLDER, "llama.gguf"))
    if "--model" in sys.argv:
        for each in ("llama", "qwen2", "qwen3"):
            write_model(each, f"/tmp/{each}.gguf")
