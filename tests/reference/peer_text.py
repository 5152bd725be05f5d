"""The text-to-text pieces of peer_bench.py's work: flan-t5-small in PyTorch, transformers and peft."""
import os

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import T5Config, T5ForConditionalGeneration

import peer_step
import sst2

MODEL = os.path.join(sst2.ROOT, "assets", "models", "flan-t5-small")
NEW_TOKENS = 20


def load():
    config = T5Config.from_pretrained(MODEL)
    config.tie_word_embeddings = False  # the output matrix is apart
    with torch.device("meta"):  # the file's own pages are the weights
        model = T5ForConditionalGeneration(config)
    model.load_state_dict(load_file(os.path.join(MODEL, "model.safetensors")), strict=False, assign=True)
    model.encoder.embed_tokens.weight = model.decoder.embed_tokens.weight = model.shared.weight
    return model


def sources(count):
    """[(ids, label)] of the first rows of SST-2 in text form."""
    tokenizer = Tokenizer.from_file(os.path.join(MODEL, "tokenizer.json"))
    return sst2.read("train.tsv", tokenizer, form="sst2 sentence: {}")[:count]


def target(row, label, length, digits):
    """The class as a digit and the end, or `length` tokens made by a rule, the last one the end."""
    if not length:
        return [digits[label], 1]
    return [3 + (row * 131 + i * 7919) % 32000 for i in range(length - 1)] + [1]


def train_batches(count, rows, length):
    """[arguments of the model's call]"""
    tokenizer = Tokenizer.from_file(os.path.join(MODEL, "tokenizer.json"))
    digits = [tokenizer.encode(str(k), add_special_tokens=False).ids[-1] for k in (0, 1)]
    data = sources(count * rows)
    out = []
    for at in range(0, len(data), rows):
        ids, mask, labels = sst2.pad(data[at:at + rows])
        targets = [target(at + i, int(k), length, digits) for i, k in enumerate(labels)]
        out.append(dict(input_ids=ids, attention_mask=mask, labels=torch.tensor(targets)))
    return out


def train(rows, steps, warm, length, precision):
    """(wall and processor seconds of each step, warm ones first, [(tokens, padded tokens)] likewise), both sides' tokens."""
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(load(), LoraConfig(task_type="SEQ_2_SEQ_LM", r=8, lora_alpha=16, lora_dropout=0.0,
                                              target_modules=["q", "v"]))
    model.train()
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    seconds, sizes = [], []
    for call in train_batches(warm + steps, rows, length):
        clock = peer_step.Clock()
        with peer_step.precise(precision):
            loss = model(**call).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        seconds.append(clock.read())
        new = call["labels"].numel()
        sizes.append((int(call["attention_mask"].sum()) + new, call["input_ids"].numel() + new))
    return seconds, sizes


def generate(rows, steps, warm, beams):
    """The same for NEW_TOKENS new tokens a source, neither more nor less."""
    model = load().eval()
    data = sources((warm + steps) * rows)
    seconds, sizes = [], []
    for at in range(0, len(data), rows):
        ids, mask, _ = sst2.pad(data[at:at + rows])
        clock = peer_step.Clock()
        with torch.inference_mode():
            out = model.generate(input_ids=ids, attention_mask=mask, num_beams=beams, do_sample=False,
                                 min_new_tokens=NEW_TOKENS, max_new_tokens=NEW_TOKENS)
        seconds.append(clock.read())
        assert out.shape == (rows, NEW_TOKENS + 1)
        sizes.append((rows * NEW_TOKENS, rows * NEW_TOKENS))
    return seconds, sizes
