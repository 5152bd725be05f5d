#!/usr/bin/env python3
"""What PyTorch, transformers and peft need for the work that `build/bench --peer-work NAME` does.

    lora-bert-base-8x128   LoRA r 8 on query and value, BERT-base shapes with random weights, 8 rows of
                           128 tokens: forward, backward, AdamW
    lora-bert-base-sst2    the same model on the first batches of 32 rows of SST-2 as they come, padded
                           to their longest row
    lora-minilm-sst2       the same batches, MiniLM
    full-minilm-sst2       full fine-tuning of MiniLM on the same batches
    lora-roberta-base-8x128  as the first, with RoBERTa-base's shapes
    lora-t5-sst2-digit     LoRA r 8 on q and v of every attention of flan-t5-small, the first batches of
                           32 rows of SST-2 in text form, the class as a digit
    lora-t5-sst2-30        the same with targets of 30 tokens
    generate-t5-1, -32     20 tokens of flan-t5-small, greedy, for 1 or 32 sources at once
    generate-t5-beam4      the same for one source with 4 beams
    lora-smol-8x128        LoRA r 8 on q and v of SmolLM2-135M, 8 texts of 128 tokens, all of them targets
    lora-smol-wikisql      the same on batches of 8 prompts with completions as they come, padded to the longest
    generate-smol-1, -32   20 tokens of SmolLM2-135M after prompts of 32 tokens, greedy
    hyperformer++-t5-small, pha-t5-small, hyperdecoder-t5-small
                           32 rows of eight tasks, as long as GLUE's, T5-small's shapes with random weights:
                           forward, backward, AdamW (peer_hyper.py)
    meta-adapters-minilm   outer steps of 16 first-order episodes of 20 + 10 rows of 32 tokens, MiniLM's shapes
                           with random weights (peer_meta.py)

Prints one JSON object: {work: {threads: {"seconds", "median", "cpu", "steps", "tokens", "padded",
"peak_bytes"}}}, or with --work and --threads the inner object alone.  With --precision bf16 forward passes run under
torch.autocast, as its documentation advises.  Each pair is measured in a process of its own.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

WORKS = {  # rows a step, counted steps, steps before counting
    "lora-bert-base-8x128": (8, 5, 2),
    "lora-bert-base-sst2": (32, 8, 1),
    "lora-minilm-sst2": (32, 40, 8),
    "full-minilm-sst2": (32, 40, 8),
    "lora-roberta-base-8x128": (8, 5, 2),
    "lora-t5-sst2-digit": (32, 6, 1),
    "lora-t5-sst2-30": (32, 6, 1),
    "generate-t5-1": (1, 12, 2),
    "generate-t5-32": (32, 3, 1),
    "generate-t5-beam4": (1, 8, 2),
    "lora-smol-8x128": (8, 5, 1),
    "lora-smol-wikisql": (8, 16, 2),
    "generate-smol-1": (1, 6, 1),
    "generate-smol-32": (32, 2, 1),
    "hyperformer++-t5-small": (32, 6, 1),
    "pha-t5-small": (32, 6, 1),
    "hyperdecoder-t5-small": (32, 6, 1),
    "meta-adapters-minilm": (16, 4, 1),
}
MADE = ("lora-bert-base-8x128", "lora-roberta-base-8x128", "hyperformer++-t5-small", "pha-t5-small",
        "hyperdecoder-t5-small", "meta-adapters-minilm")  # no data needed
IN_F32 = ("generate-t5-1", "generate-t5-32", "generate-t5-beam4", "meta-adapters-minilm")


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def batches(work, count, rows):
    """[(ids, mask, labels)], the mask None where nothing is padded."""
    import torch
    from tokenizers import Tokenizer
    import sst2
    if work in MADE:
        torch.manual_seed(1)
        return [(torch.randint(1000, 30000, (rows, 128)), None, torch.randint(0, 2, (rows,)))
                for _ in range(count)]
    tokenizer = Tokenizer.from_file(os.path.join(sst2.MODEL, "tokenizer.json"))
    data = sst2.read("train.tsv", tokenizer)[:count * rows]
    return [sst2.pad(data[i:i + rows]) for i in range(0, len(data), rows)]


def train_classes(work, rows, steps, warm, precision):
    """(wall and processor seconds of each step, warm ones first, [(tokens, padded tokens)] likewise)."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import (BertConfig, BertForSequenceClassification, RobertaConfig,
                              RobertaForSequenceClassification)
    import peer_step
    import sst2
    if work.endswith("minilm-sst2"):
        base = BertForSequenceClassification.from_pretrained(sst2.MODEL, num_labels=2)
    elif work == "lora-roberta-base-8x128":
        base = RobertaForSequenceClassification(RobertaConfig(
            num_labels=2, vocab_size=50265, max_position_embeddings=514, type_vocab_size=1))
    else:
        base = BertForSequenceClassification(BertConfig(num_labels=2))
    model = base if work.startswith("full") else get_peft_model(
        base, LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=16, lora_dropout=0.0, target_modules=["query", "value"]))
    model.train()
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    seconds, sizes = [], []
    for ids, mask, labels in batches(work, warm + steps, rows):
        clock = peer_step.Clock()
        with peer_step.precise(precision):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        seconds.append(clock.read())
        sizes.append((ids.numel() if mask is None else int(mask.sum()), ids.numel()))
    return seconds, sizes


def measure(work, threads, precision):
    import torch
    import peer_causal
    import peer_hyper
    import peer_meta
    import peer_text
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    rows, steps, warm = WORKS[work]
    if precision != "f32" and work in IN_F32:
        raise SystemExit(f"--precision: {work} is computed in f32")
    if "-smol-" in work:
        seconds, sizes = peer_causal.run(work, rows, steps, warm, precision)
    elif work.endswith("-t5-small"):
        seconds, sizes = peer_hyper.train(work, steps, warm, precision)
    elif work == "meta-adapters-minilm":
        seconds, sizes = peer_meta.train(steps, warm)
    elif work.startswith("generate"):
        seconds, sizes = peer_text.generate(rows, steps, warm, beams=4 if work.endswith("beam4") else 1)
    elif work.startswith("lora-t5"):
        seconds, sizes = peer_text.train(rows, steps, warm, length=30 if work.endswith("30") else 0, precision=precision)
    else:
        seconds, sizes = train_classes(work, rows, steps, warm, precision)
    seconds, sizes = seconds[warm:], sizes[warm:]
    wall, cpu = zip(*seconds)
    return {"seconds": sum(wall), "median": statistics.median(wall), "cpu": sum(cpu), "steps": steps,
            "tokens": sum(t for t, _ in sizes), "padded": sum(p for _, p in sizes), "peak_bytes": peak_bytes()}


def measure_apart(work, threads, precision):
    """measure() in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, os.path.abspath(__file__), "--work", work, "--threads", str(threads),
               "--precision", precision]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", choices=list(WORKS))
    p.add_argument("--threads", type=int)
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    args = p.parse_args()
    if args.work and args.threads:
        print(json.dumps(measure(args.work, args.threads, args.precision)))
        return
    works = [args.work] if args.work else list(WORKS)
    threads = [args.threads] if args.threads else [1, 2]
    print(json.dumps({w: {t: measure_apart(w, t, args.precision) for t in threads} for w in works}, indent=1))


if __name__ == "__main__":
    main()
