"""Writes tests/reference/search.txt: what transformers' generate() makes of next-token
logits given by a rule, greedy and with beams, under 400 drawn settings.

A line: seed vocabulary end-boost | beams max_new min_new length_penalty early no_repeat
forced_first forced_last | end ids | score | ids.  Run: python make_search.py > search.txt"""
import random

import torch
from transformers import GenerationConfig, GenerationMixin, PreTrainedModel, PretrainedConfig
from transformers.modeling_outputs import CausalLMOutputWithPast

START = 1
MASK = 0xFFFFFFFF


def mix(h):
    h ^= h >> 16
    h = h * 0x21F0AAAD & MASK
    h ^= h >> 15
    h = h * 0xD35A2D97 & MASK
    return h ^ h >> 15


def logits(ids, seed, vocabulary, ends, boost):
    """Numbers from 0 to 4 that float holds exactly, by the whole text so far."""
    h = mix(seed)
    for i in ids:
        h = mix(h + i + 1 & MASK)
    out = [(mix(h + 977 * (v + 1) & MASK) >> 11) / 2.0**19 for v in range(vocabulary)]
    for e in ends:
        out[e] += boost
    return out


class Rule(PreTrainedModel, GenerationMixin):
    config_class = PretrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def forward(self, input_ids=None, **_):
        rows = [[logits(r.tolist(), *self.rule)] for r in input_ids]
        return CausalLMOutputWithPast(logits=torch.tensor(rows))


def main():
    model = Rule(PretrainedConfig(vocab_size=40, num_hidden_layers=1, hidden_size=1))
    model.generation_config = GenerationConfig()
    draw = random.Random(7)
    for case in range(400):
        vocabulary = draw.randint(26, 40)
        ends = draw.sample(range(2, vocabulary), draw.choice([0, 1, 1, 1, 1, 2]))
        boost = draw.choice([-1, 0, 1, 2, 3])
        beams = draw.choice([1, 2, 2, 3, 4, 4, 6])
        most = draw.randint(1, 12)
        least = draw.choice([0, 0, 0, draw.randint(0, most)]) if ends else 0
        penalty = draw.choice([1.0, 1.0, 0.0, 2.0, 0.6, -0.5, 3.5])
        early = draw.choice([False, False, True, "never"])
        repeat = draw.choice([0, 0, 0, 1, 2, 3])
        first = draw.choice([-1, -1, -1, draw.randrange(vocabulary)])
        last = ends[0] if ends and draw.random() < 0.3 else -1
        model.rule = (case, vocabulary, ends, boost)
        config = dict(num_beams=beams, max_new_tokens=most, min_new_tokens=least, early_stopping=early,
                      length_penalty=penalty, no_repeat_ngram_size=repeat, do_sample=False, use_cache=False,
                      eos_token_id=ends or None, pad_token_id=0, return_dict_in_generate=True,
                      output_scores=True, forced_bos_token_id=first if first >= 0 else None,
                      forced_eos_token_id=last if last >= 0 else None)
        if beams == 1:
            del config["early_stopping"], config["length_penalty"]
        out = model.generate(torch.tensor([[START]]), generation_config=GenerationConfig(**config))
        ids = out.sequences[0].tolist()[1:]
        score = out.sequences_scores[0].item() if beams > 1 else 0
        name = {False: 0, True: 1, "never": 2}[early]
        print(case, vocabulary, boost, "|", beams, most, least, penalty, name, repeat, first, last, "|",
              *ends, "|", f"{score:.7g}", "|", *ids)


if __name__ == "__main__":
    main()
