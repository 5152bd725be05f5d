#!/usr/bin/env python3
"""Expected values of tiny RoBERTa, T5, BART and mBART models, from PyTorch and transformers.

    make_families.py [NAME…]     writes tests/reference/families/NAME/, all without a name

Two random models a family as transformers saves them, -tiny the usual kind and -odd the other; all
dropout is off.  Dropout in config.json is as published.  expected.safetensors beside each:

  ids, types, lengths      I64: tokens of the rows one after another (no padding), one length a row
  target_in, target_out,   I64: what the decoder reads and what it has to predict, as many tokens a row;
  target_lengths           not for RoBERTa
  labels                   I64, one a row: the class; zero where there is a target
  layer.0 … layer.Le       F64, tokens × d: the encoder's embeddings (after their norm and scale) and
                           each layer's output; where blocks norm first, before the final norm
  layer.Le+1 …             F64, target tokens × d: the same of the decoder, embeddings first
  encoded, decoded         F64: what cross-attention reads, and what the output matrix is multiplied
                           with (after final norm; T5 with tied embeddings: after the scale 1/√d)
  logits, loss             F64, rows × classes, or target tokens × V; mean over rows or target tokens
  nll, uniform             F64, one a target token: −log p of the label, and Σ_v −log p_v
  smooth.sum, .tokens,     F64: with ε = 0.1, (1−ε)·nll + (ε/V)·uniform: the sum, the mean over target
  .rows, .positions        tokens, the mean of the rows' means, the sum by rows × the longest target
  decoded.grad,            F64: gradients of loss and of smooth.sum with respect to decoded
  smooth.decoded.grad
  grad.NAME                F64, gradient of loss in full tuning, NAME as in model.safetensors
  adamw                    F64, 10 losses of full tuning, each before its step
  after.NAME               F64, of the weights after these ten steps the largest magnitude and the values
                           at the 16 places (i * 7919 + 13) mod size
  lora.NAME.a, .b          F64, r × in and out × r, none zero; NAME that of the map without ".weight":
                           every query and value of every attention; x Wᵀ + b + 2·(x Aᵀ) Bᵀ
  lora.logits, lora.loss, lora.grad.NAME.a / .b

AdamW: lr 1e-3, betas 0.9 and 0.999, eps 1e-8, decay 0.01 for matrices, 0 for vectors, no clipping,
constant rate, all rows in every step.  Values are computed in float64 from the stored F32 weights.

generated.txt (not for RoBERTa) holds 200 inputs, one a line, then for each way of generating a line
"set NAME beams B penalty P min M max N early E" (M and N in new tokens, early 0 or 1) and 200 lines:

  GAP SCORE ID…            the new tokens without the decoder's start, with the end where it came; SCORE
                           is the sum of log p (of beams: over length^P); GAP the smallest difference
                           of scores that any choice on the way rested on (99 where there was none)
"""
import json
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import (BartConfig, BartForConditionalGeneration, MBartConfig,
                          MBartForConditionalGeneration, RobertaConfig,
                          RobertaForSequenceClassification, T5Config, T5ForConditionalGeneration)
from transformers.generation.utils import GenerationMixin
from transformers.models.t5.modeling_t5 import T5LayerNorm

import make_bert

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "families")
SMOOTHING = 0.1
LENGTHS = ((9, 4), (3, 1), (17, 6), (1, 0), (12, 2))  # tokens of the source, words of the target

BART = dict(vocab_size=60, max_position_embeddings=24, attn_implementation="eager",
            pad_token_id=1, bos_token_id=0, eos_token_id=2)
MODELS = {
    "roberta-tiny": dict(seed=11, config=RobertaConfig(
        vocab_size=60, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
        max_position_embeddings=26, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        layer_norm_eps=1e-5, num_labels=3, attn_implementation="eager")),
    "roberta-odd": dict(seed=12, config=RobertaConfig(
        vocab_size=53, hidden_size=14, num_hidden_layers=3, num_attention_heads=2, intermediate_size=18,
        max_position_embeddings=24, type_vocab_size=2, pad_token_id=3, bos_token_id=1, eos_token_id=5,
        layer_norm_eps=1e-6, hidden_act="relu", num_labels=2, attn_implementation="eager")),
    "t5-tiny": dict(seed=21, config=T5Config(
        vocab_size=60, d_model=16, d_kv=4, num_heads=4, d_ff=20, num_layers=2, feed_forward_proj="relu",
        relative_attention_num_buckets=8, relative_attention_max_distance=20, decoder_start_token_id=0,
        pad_token_id=0, eos_token_id=1)),
    "t5-odd": dict(seed=22, config=T5Config(
        vocab_size=61, d_model=14, d_kv=6, num_heads=2, d_ff=18, num_layers=2, num_decoder_layers=3,
        feed_forward_proj="gated-gelu", relative_attention_num_buckets=12,
        relative_attention_max_distance=13, layer_norm_epsilon=1e-5, tie_word_embeddings=False,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)),
    "bart-tiny": dict(seed=31, lessons=600, config=BartConfig(
        d_model=12, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=20, decoder_start_token_id=2,
        forced_eos_token_id=2, **BART)),
    "bart-odd": dict(seed=32, begin=0, config=BartConfig(
        d_model=14, encoder_layers=1, decoder_layers=3, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=18, decoder_ffn_dim=18, activation_function="relu",
        scale_embedding=True, decoder_start_token_id=2, forced_eos_token_id=None,
        **BART)),
    "mbart-tiny": dict(seed=41, language=57, config=MBartConfig(
        d_model=12, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=20, decoder_ffn_dim=20, scale_embedding=True,
        decoder_start_token_id=57, forced_eos_token_id=2, **BART)),
    "mbart-odd": dict(seed=45, lessons=900, language=58, begin=58, config=MBartConfig(
        d_model=14, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=18, decoder_ffn_dim=18, activation_function="relu",
        scale_embedding=False, decoder_start_token_id=2, forced_eos_token_id=2,
        **BART)),
}
CLASSES = {"roberta": RobertaForSequenceClassification, "t5": T5ForConditionalGeneration,
           "bart": BartForConditionalGeneration, "mbart": MBartForConditionalGeneration}
SETS = {  # name: (beams, length penalty, min and max new tokens, stop as soon as all beams ended)
    "greedy": (1, 1.0, 0, 12, False),
    "greedy-least": (1, 1.0, 5, 9, False),
    "beam": (4, 1.0, 0, 12, False),
    "beam-long": (4, 2.0, 4, 10, False),
    "beam-early": (4, 0.5, 0, 10, True),
}


# transformers' T5 norms in 32 bits even in a model of 64.
def t5_norm(self, x):
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


T5LayerNorm.forward = t5_norm


# ---- models and rows ----

def published(config):
    """What stands in config.json: transformers' own, with the usual dropout."""
    out = {k: v for k, v in config.to_dict().items() if k not in ("scale_decoder_outputs", "_name_or_path")}
    for name in ("dropout", "attention_dropout", "dropout_rate", "hidden_dropout_prob",
                 "attention_probs_dropout_prob"):
        if name in out:
            out[name] = 0.1
    return out


def without_dropout(config):
    for name in ("dropout", "attention_dropout", "activation_dropout", "dropout_rate", "hidden_dropout_prob",
                 "attention_probs_dropout_prob", "classifier_dropout", "encoder_layerdrop",
                 "decoder_layerdrop"):
        if hasattr(config, name):
            setattr(config, name, 0.0)


def fill(model, config):
    """Weights that make a model's layers differ from each other, and its texts vary and end."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            wide = 0.9 if "attn" in name.lower() or "attention" in name.lower() else 0.7
            p.copy_(torch.randn_like(p) * (wide / p.shape[-1] ** 0.5 if p.dim() > 1 else 0.2))
            if "norm" in name.lower() and name.endswith("weight"):
                p.add_(1.0)
            if "embed_positions" in name or "relative_attention_bias" in name:
                p.copy_(torch.randn_like(p) * 0.6)
            if name.endswith(("shared.weight", "lm_head.weight")):
                p.copy_(torch.randn_like(p) * config.spread)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.3)
            model.final_logits_bias[0, config.eos_token_id] += config.ending


def teach(model, name):
    """A few steps on a made task, so that texts follow their sources and end at different lengths:
    the source backwards, each token changed by a rule, and the last ones left out."""
    config = MODELS[name]["config"]
    g = torch.Generator().manual_seed(MODELS[name]["seed"] + 3000)
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
    for _ in range(MODELS[name].get("lessons", 300)):
        sources, targets = [], []
        for length in torch.randint(3, 13, (24,), generator=g).tolist():
            source = source_row(name, length, g)
            plain = [t for t in source if 3 < t < 57]
            words = [4 + (t * 7 + 3) % 53 for t in reversed(plain)][: 3 + sum(plain) % 8]
            sources.append(source)
            targets.append(target_row(name, words))
        call = dict(input_ids=pad(sources, config.pad_token_id),
                    attention_mask=pad([[1] * len(s) for s in sources], 0),
                    decoder_input_ids=pad([a for a, _ in targets], config.pad_token_id),
                    labels=pad([b for _, b in targets], -100))
        optimiser.zero_grad()
        model(**call).loss.backward()
        optimiser.step()


def make(name):
    about = MODELS[name]
    config = about["config"]
    torch.manual_seed(about["seed"])
    if getattr(config, "scale_decoder_outputs", True) is False:
        config.tie_word_embeddings = False
    family = name.split("-")[0]
    config.architectures = [CLASSES[family].__name__]
    saved = published(config)
    if name == "bart-odd":  # as older folders have it: all in one file
        saved["forced_bos_token_id"] = about["begin"]
    without_dropout(config)
    config.spread, config.ending = about.get("spread", 0.8), about.get("ending", 2.0)
    model = CLASSES[family](config).eval()
    if family == "t5" and not config.tie_word_embeddings:  # only the output is apart
        model.encoder.embed_tokens.weight = model.decoder.embed_tokens.weight = model.shared.weight
    fill(model, config)
    if family != "roberta":
        teach(model, name)
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder, exist_ok=True)
    kept = {k: v.clone() for k, v in model.state_dict().items() if k not in model.all_tied_weights_keys
            and not k.endswith(".embed_tokens.weight")}
    if name == "t5-tiny":  # the first T5s were published with every tied name
        for alias in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"):
            kept[alias] = kept["shared.weight"].clone()
    save_file(kept, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    if model.can_generate():
        model.generation_config.forced_bos_token_id = about.get("begin")
        if name != "bart-odd":
            model.generation_config.save_pretrained(folder)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(saved, f, indent=1, sort_keys=True)
        f.write("\n")
    return model.double(), folder


def plain_ids(config, count, g):
    special = {config.pad_token_id, config.eos_token_id, 0, 1, 2, 3, 57, 58, 59}
    usual = torch.tensor([i for i in range(config.vocab_size) if i not in special])
    return usual[torch.randint(0, len(usual), (count,), generator=g)].tolist()


def frame(name, words):
    """Words between the tokens that the family's tokenizer puts around them."""
    config = MODELS[name]["config"]
    language = MODELS[name].get("language")
    if name.startswith("t5"):
        return words + [config.eos_token_id]
    if name == "mbart-tiny":
        return words + [config.eos_token_id, language]
    return [language if language else config.bos_token_id] + words + [config.eos_token_id]


def source_row(name, length, g):
    """`length` tokens, framed; the shortest rows are cut at their start."""
    words = plain_ids(MODELS[name]["config"], max(length - len(frame(name, [])), 0), g)
    return frame(name, words)[-length:]


def target_row(name, words):
    """(decoder's input, labels), as the family's published models are trained."""
    out = frame(name, words)
    start = out[-1] if name == "mbart-tiny" else MODELS[name]["config"].decoder_start_token_id
    return [start] + out[:-1], out


def pad(rows, value):
    longest = max(map(len, rows))
    ids = torch.full((len(rows), longest), value)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
    return ids


def flat(rows):
    return torch.tensor([t for row in rows for t in row])


def prepare(name, out):
    """The arguments of the model's call; the rows go into `out`."""
    config = MODELS[name]["config"]
    g = torch.Generator().manual_seed(MODELS[name]["seed"] + 1000)
    sources = [source_row(name, n, g) for n, _ in LENGTHS]
    types = [[0] * len(r) for r in sources]
    if name == "roberta-odd":
        types = [torch.randint(0, 2, (len(r),), generator=g).tolist() for r in sources]
    out["ids"], out["types"] = flat(sources), flat(types)
    out["lengths"] = torch.tensor([len(r) for r in sources])
    out["labels"] = torch.zeros(len(sources), dtype=torch.long)
    mask = pad([[1] * len(r) for r in sources], 0)
    call = dict(input_ids=pad(sources, config.pad_token_id), attention_mask=mask)
    if name.startswith("roberta"):
        out["labels"] = torch.randint(0, config.num_labels, (len(sources),), generator=g)
        call.update(token_type_ids=pad(types, 0), labels=out["labels"].clone())
        return call
    targets = [target_row(name, plain_ids(config, n, g)) for _, n in LENGTHS]
    out["target_in"], out["target_out"] = flat([a for a, _ in targets]), flat([b for _, b in targets])
    out["target_lengths"] = torch.tensor([len(a) for a, _ in targets])
    call.update(decoder_input_ids=pad([a for a, _ in targets], config.pad_token_id),
                labels=pad([b for _, b in targets], -100))
    return call


# ---- values ----

def stacks(model):
    """[(blocks, final norm or None)] of the encoder and, where there is one, the decoder."""
    if hasattr(model, "roberta"):
        return [(model.roberta.encoder.layer, None)]
    if hasattr(model, "shared"):
        return [(s.block, s.final_layer_norm) for s in (model.encoder, model.decoder)]
    return [(s.layers, getattr(s, "layer_norm", None)) for s in (model.model.encoder, model.model.decoder)]


class Watch:
    """Keeps what goes into the first block and comes out of each, of both stacks, in order."""

    def __init__(self, model):
        self.value, self.handles = [], []
        for blocks, _ in stacks(model):
            self.handles.append(blocks[0].register_forward_pre_hook(self.before, with_kwargs=True))
            self.handles += [b.register_forward_hook(self.after) for b in blocks]

    def before(self, _module, args, kwargs):
        self.value.append(args[0] if args else kwargs["hidden_states"])

    def after(self, _module, _args, output):
        self.value.append(output[0] if isinstance(output, tuple) else output)

    def stop(self):
        for h in self.handles:
            h.remove()


def forward(model, call, out):
    """Fills in layers, logits and losses; returns (loss, Σ of the smoothed loss, decoded)."""
    mask = call["attention_mask"].bool()
    watch, read = Watch(model), []
    output = model.get_output_embeddings()
    if output is not None:
        handle = output.register_forward_pre_hook(lambda _m, args: read.append(args[0]))
    result = model(**call)
    watch.stop()
    depth = len(stacks(model)[0][0])
    labels = call["labels"]
    for i, h in enumerate(watch.value):
        out[f"layer.{i}"] = h[mask if i <= depth else labels.ge(0)].detach().clone()
    out["loss"] = result.loss.detach().reshape(1)
    if output is None:
        out["encoded"], out["logits"] = out[f"layer.{depth}"].clone(), result.logits.detach().clone()
        return result.loss, None, None
    handle.remove()
    kept = labels.ge(0)
    decoded, logits = read[0], result.logits
    decoded.retain_grad()
    out["encoded"] = result.encoder_last_hidden_state[mask].detach().clone()
    out["decoded"] = decoded[kept].detach().clone()
    out["logits"] = logits[kept].detach().clone()
    logp = torch.log_softmax(logits[kept], -1)
    nll = -logp.gather(1, labels[kept].unsqueeze(1)).squeeze(1)
    uniform = -logp.sum(1)
    out["nll"], out["uniform"] = nll.detach().clone(), uniform.detach().clone()
    each = (1 - SMOOTHING) * nll + SMOOTHING / logp.shape[1] * uniform
    smooth, lengths = each.sum(), kept.sum(1)
    for reduction, n in dict(sum=1, tokens=int(kept.sum()), positions=labels.numel()).items():
        out["smooth." + reduction] = (smooth / n).detach().reshape(1)
    of_rows = torch.stack([row.mean() for row in each.split(lengths.tolist())])
    out["smooth.rows"] = of_rows.mean().detach().reshape(1)
    return result.loss, smooth, decoded


def values(model, name, out):
    call = prepare(name, out)
    first = {k: v.clone() for k, v in model.state_dict().items()}
    loss, smooth, decoded = forward(model, call, out)
    if smooth is not None:
        kept = call["labels"].ge(0)
        smooth.backward(retain_graph=True)
        out["smooth.decoded.grad"] = decoded.grad[kept].clone()
        model.zero_grad()
        decoded.grad = None
    loss.backward()
    if smooth is not None:
        out["decoded.grad"] = decoded.grad[kept].clone()
    for key, p in model.named_parameters():
        out["grad." + key] = p.grad.clone()
    model.zero_grad()
    labels = call.pop("labels")
    out["adamw"] = make_bert.adamw(model, list(model.parameters()), call, labels, 1e-3)
    for key, p in model.named_parameters():
        out["after." + key] = make_bert.samples(p)
    model.load_state_dict(first)
    lora(model, call, labels, out)


def lora(model, call, labels, out):
    g = torch.Generator().manual_seed(77)
    modules = {}
    for name, base in list(model.named_modules()):
        last = name.split(".")[-1]
        if last not in ("q", "v", "query", "value", "q_proj", "v_proj"):
            continue
        a = torch.randn(2, base.in_features, generator=g).double() * 0.3
        b = torch.randn(base.out_features, 2, generator=g).double() * 0.3
        modules[name] = make_bert.Lora(base, a, b)
        setattr(model.get_submodule(name.rpartition(".")[0]), last, modules[name])
        out[f"lora.{name}.a"], out[f"lora.{name}.b"] = a.clone(), b.clone()
    model.zero_grad()
    result = model(**call, labels=labels)
    rows = result.logits[labels.ge(0)] if labels.dim() > 1 else result.logits
    out["lora.logits"], out["lora.loss"] = rows.detach().clone(), result.loss.detach().reshape(1)
    result.loss.backward()
    for name, m in modules.items():
        out[f"lora.grad.{name}.a"], out[f"lora.grad.{name}.b"] = m.a.grad.clone(), m.b.grad.clone()
        setattr(model.get_submodule(name.rpartition(".")[0]), name.split(".")[-1], m.base)


# ---- generation ----

class Gaps:
    """The smallest difference of scores that a choice of the beam search rests on."""

    def __init__(self):
        self.least = 99.0
        self.top = GenerationMixin._get_top_k_continuations
        self.running = GenerationMixin._get_running_beams_for_next_iteration
        self.finished = GenerationMixin._update_finished_beams
        self.stop = GenerationMixin.__dict__["_check_early_stop_heuristic"]

    def between(self, scores, place):
        """Notes what parts the first `place` of the scores from the rest, where both can be had."""
        s = scores.flatten().sort(descending=True).values
        if place < len(s) and s[place] > -1e8:
            self.least = min(self.least, (s[place - 1] - s[place]).item())

    def __enter__(self):
        gaps = self

        def top(self, accumulated_log_probs, **kw):
            gaps.between(accumulated_log_probs, kw["beams_to_keep"])
            return gaps.top(self, accumulated_log_probs=accumulated_log_probs, **kw)

        def running(self, topk_log_probs, **kw):
            hits = kw["next_token_hits_stopping_criteria"]
            gaps.between(topk_log_probs + hits * -1e9, kw["num_beams"])
            if hits.any():  # who ends counts only among the first num_beams
                gaps.between(topk_log_probs, kw["num_beams"])
            return gaps.running(self, topk_log_probs=topk_log_probs, **kw)

        def finished(self, **kw):
            result = gaps.finished(self, **kw)
            gaps.last = result[1]
            return result

        def stop(**kw):
            if kw["is_sent_finished"].all() and kw["is_early_stop_heuristic_unsatisfied"].all():
                length = kw["cur_len"] - kw["decoder_prompt_len"]
                best = kw["running_beam_scores"][:, 0] / length ** kw["length_penalty"]
                gaps.least = min(gaps.least, (best - kw["beam_scores"].min()).abs().item())
            return gaps.stop.__func__(**kw)

        GenerationMixin._get_top_k_continuations = top
        GenerationMixin._get_running_beams_for_next_iteration = running
        GenerationMixin._update_finished_beams = finished
        GenerationMixin._check_early_stop_heuristic = staticmethod(stop)
        return self

    def __exit__(self, *_):
        GenerationMixin._get_top_k_continuations = self.top
        GenerationMixin._get_running_beams_for_next_iteration = self.running
        GenerationMixin._update_finished_beams = self.finished
        GenerationMixin._check_early_stop_heuristic = self.stop


def generate(model, source, way):
    """(gap, score, new ids) of one source.  Without the cache, which has room for as many layers as
    the encoder has."""
    beams, penalty, least, most, early = way
    options = dict(num_beams=beams, do_sample=False, max_new_tokens=most, return_dict_in_generate=True,
                   output_scores=True, output_logits=True, use_cache=False)
    if least:
        options["min_new_tokens"] = least
    if beams > 1:
        options.update(length_penalty=penalty, early_stopping=early)
    ids = torch.tensor([source])
    with torch.no_grad(), Gaps() as gaps:
        result = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)
    out = result.sequences[0, 1:].tolist()
    end = model.config.eos_token_id
    if end in out:
        out = out[: out.index(end) + 1]
    if beams > 1:
        gaps.between(gaps.last, 1)
        return gaps.least, result.sequences_scores[0].item(), out
    score = 0.0
    for step, token in enumerate(out):
        gaps.between(result.scores[step][0], 1)
        score += torch.log_softmax(result.logits[step][0].double(), -1)[token].item()
    return gaps.least, score, out


def generations(model, name, folder, count=200):
    g = torch.Generator().manual_seed(MODELS[name]["seed"] + 2000)
    lengths = torch.randint(3, 13, (count,), generator=g).tolist()
    sources = [source_row(name, n, g) for n in lengths]
    path = os.path.join(folder, "generated.txt")
    with open(path, "w", encoding="ascii") as f:
        for s in sources:
            print(*s, file=f)
        for label, way in SETS.items():
            beams, penalty, least, most, early = way
            print(f"set {label} beams {beams} penalty {penalty} min {least} max {most} early {int(early)}",
                  file=f)
            seen = []
            for s in sources:
                gap, score, ids = generate(model, s, way)
                seen.append(tuple(ids))
                print(f"{gap:.3g} {score:.6f}", *ids, file=f)
            lasts = sum(s[-1] == model.config.eos_token_id for s in seen)
            kinds = sum(len(set(s)) for s in seen) / sum(map(len, seen))
            print(f"  {label}: {len(set(seen))} of {count} differ, {lasts} end by themselves, mean length "
                  f"{sum(map(len, seen)) / count:.1f}, {kinds:.2f} different tokens a token")
    print(path, os.path.getsize(path), "bytes")


def main(names):
    torch.set_num_threads(1)
    for name in names:
        model, folder = make(name)
        out = {}
        values(model, name, out)
        path = os.path.join(folder, "expected.safetensors")
        save_file({k: v.contiguous() for k, v in out.items()}, path)
        print(path, os.path.getsize(path), "bytes")
        if not name.startswith("roberta"):
            generations(model, name, folder)


if __name__ == "__main__":
    if set(sys.argv[1:]) - set(MODELS):
        sys.exit(__doc__)
    main(sys.argv[1:] or MODELS)
