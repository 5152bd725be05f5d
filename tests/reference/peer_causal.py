"""The causal language model of peer_bench.py's work: SmolLM2-135M in PyTorch, transformers and peft."""
import json
import os

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import peer_step
import sst2

MODEL = os.path.join(sst2.ROOT, "assets", "models", "smollm2")
DATA = os.path.join(os.path.dirname(os.path.dirname(sst2.DATA)), "wikisql-1000", "train.jsonl")
LONGEST, PROMPT, NEW_TOKENS = 128, 32, 20


def file_name():
    return next(f for f in os.listdir(MODEL) if f.endswith(".gguf"))


def load():
    return AutoModelForCausalLM.from_pretrained(MODEL, gguf_file=file_name(), dtype=torch.float32)


def by_rule(rows, length):
    return torch.tensor([[3 + (i * 131 + k * 7919) % 32000 for k in range(length)] for i in rows])


def made_batches(count, rows):
    for at in range(count):
        ids = by_rule(range(at * rows, (at + 1) * rows), 128)
        yield dict(input_ids=ids, labels=ids), ids.numel()


def read_batches(count, rows):
    """Prompts and completions, padded to the longest of a batch; targets are the completions and their end."""
    tokenizer = AutoTokenizer.from_pretrained(MODEL, gguf_file=file_name())
    texts = []
    with open(DATA, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            prompt, answer = (tokenizer(row[k], add_special_tokens=False).input_ids for k in ("prompt", "completion"))
            if len(prompt) + len(answer) < LONGEST:
                texts.append((prompt, answer + [tokenizer.eos_token_id]))
    for at in range(0, count * rows, rows):
        some = texts[at:at + rows]
        longest = max(len(p) + len(a) for p, a in some)
        pads = [longest - len(p) - len(a) for p, a in some]
        yield dict(input_ids=torch.tensor([p + a + [0] * n for (p, a), n in zip(some, pads)]),
                   attention_mask=torch.tensor([[1] * (longest - n) + [0] * n for n in pads]),
                   labels=torch.tensor([[-100] * len(p) + a + [-100] * n for (p, a), n in zip(some, pads)])), \
            rows * longest - sum(pads)


def train(work, rows, steps, warm, precision):
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(load(), LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=16, lora_dropout=0.0,
                                              target_modules=["q_proj", "v_proj"]))
    model.train()
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    seconds, sizes = [], []
    for call, tokens in (made_batches if work.endswith("8x128") else read_batches)(warm + steps, rows):
        clock = peer_step.Clock()
        with peer_step.precise(precision):
            loss = model(**call, use_cache=False).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        seconds.append(clock.read())
        sizes.append((tokens, call["input_ids"].numel()))
    return seconds, sizes


def generate(rows, steps, warm, precision):
    """NEW_TOKENS new tokens a prompt, neither more nor less; in bf16 the weights are bfloat16, as users load them."""
    model = load().eval()
    if precision == "bf16":
        model = model.to(torch.bfloat16)
    seconds, sizes = [], []
    for at in range(warm + steps):
        ids = by_rule(range(at * rows, (at + 1) * rows), PROMPT)
        clock = peer_step.Clock()
        with torch.inference_mode():
            out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False,
                                 min_new_tokens=NEW_TOKENS, max_new_tokens=NEW_TOKENS, pad_token_id=0)
        seconds.append(clock.read())
        assert out.shape == (rows, PROMPT + NEW_TOKENS)
        sizes.append((rows * NEW_TOKENS, rows * NEW_TOKENS))
    return seconds, sizes


def run(work, rows, steps, warm, precision):
    """(wall and processor seconds of each step, warm ones first, [(tokens, padded tokens)] likewise)."""
    if work.startswith("generate"):
        return generate(rows, steps, warm, precision)
    return train(work, rows, steps, warm, precision)
