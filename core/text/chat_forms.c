#include "core/text/chat_forms.h"

#include "core/base/mem.h"

const char chat_template_names[] = "none, chatml, smollm2, qwen2, qwen2.5, qwen3, llama2, llama3, llama3.1, "
                                   "mistral-v0.1, mistral-v0.2, mistral-v1, mistral-v3, mistral-tekken or zephyr";

/* \1 surrounds each literal of a Jinja template, \2 the code between literals. */
#define LIST(...) (const char *const[]){ __VA_ARGS__, NULL }

#define CHATML(ROLE) "<|im_start|>" ROLE "\n"
#define CHATML_FORM                                                                                          \
    .head = { CHATML("system"), CHATML("user"), CHATML("assistant") },                                       \
    .foot = { "<|im_end|>\n", "<|im_end|>\n", "<|im_end|>" }, .tail = "\n", .where = CHAT_SYSTEM_TURN
#define CHATML_PROOF                                                                                         \
    .proof = LIST("\1<|im_start|>", "<|im_end|>", "\1<|im_start|>assistant\n"),                              \
    .never = LIST("<|im_sep|>", "<end_of_utterance>", "<think>", "trim", "strip(", "strftime", "bos_token")

#define LLAMA3(ROLE) "<|start_header_id|>" ROLE "<|end_header_id|>\n\n"
#define LLAMA3_FORM                                                                                          \
    .begin = "{bos}", .head = { LLAMA3("system"), LLAMA3("user"), LLAMA3("assistant") },                     \
    .foot = { "<|eot_id|>", "<|eot_id|>", "<|eot_id|>" }, .where = CHAT_SYSTEM_TURN, .trim = true
#define LLAMA3_PROOF "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>",                          \
    "\1<|start_header_id|>assistant<|end_header_id|>\n\n", "trim", "bos_token"

#define MISTRAL_FORM .begin = "{bos}", .alternate = true
#define MISTRAL_V1_FORM                                                                                      \
    MISTRAL_FORM, .head = { NULL, "[INST] ", "" }, .foot = { NULL, " [/INST]", "{eos}" }

const struct chat_form chat_forms[] = {
    { .name = "none", .head = { NULL, "", "" }, .foot = { NULL, "", "{eos}" }, .alternate = true,
      .single = true },
    { .name = "qwen3", CHATML_FORM, .thinks = true,
      .proof = LIST("\1<|im_start|>", "<|im_end|>", "\1<|im_start|>assistant\n", "enable_thinking",
                    "\1<think>\n\n</think>\n\n\1", "\n</think>\n\n", "last_query_index"),
      .never = LIST("bos_token") },
    { .name = "smollm2", CHATML_FORM, CHATML_PROOF,
      .system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
      .known = LIST("872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788") },
    { .name = "qwen2", CHATML_FORM, CHATML_PROOF, .system = "You are a helpful assistant." },
    { .name = "qwen2.5", CHATML_FORM, CHATML_PROOF,
      .system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant." },
    { .name = "chatml", CHATML_FORM, CHATML_PROOF },
    { .name = "llama3.1", LLAMA3_FORM, .system = "",
      .opening = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n",
      .proof = LIST(LLAMA3_PROOF, "Cutting Knowledge Date: December 2023\n", "26 Jul 2024",
                    "\1Today Date: \1"),
      .never = LIST("<think>") },
    { .name = "llama3", LLAMA3_FORM, .proof = LIST(LLAMA3_PROOF),
      .never = LIST("Cutting Knowledge", "strftime", "<think>", "\1<|start_header_id|>system") },
    { .name = "llama2", .head = { NULL, "{bos}[INST] ", "" }, .foot = { NULL, " [/INST]", " {eos}" },
      .alternate = true, .lead = " ", .trim = true, .where = CHAT_SYSTEM_FIRST, .opening = "<<SYS>>\n",
      .closing = "\n<</SYS>>\n\n",
      .proof = LIST("\1[INST] \1", "\1 [/INST]\1", "\1<<SYS>>\n\1", "\1\n<</SYS>>\n\n\1",
                    "bos_token+\2\1", "strip()", "\1 \1\2+eos_token"),
      .never = LIST("[SYSTEM_PROMPT]") },
    { .name = "mistral-v0.1", MISTRAL_V1_FORM, .tail = " ",
      .proof = LIST("\1[INST] \1", "\1 [/INST]\1", "bos_token", "eos_token+\2\1 \1"),
      .never = LIST("<<SYS>>", "trim", "strip(", "[SYSTEM_PROMPT]", "\1 \1\2+") },
    { .name = "mistral-v0.2", MISTRAL_V1_FORM,
      .proof = LIST("\1[INST] \1", "\1 [/INST]\1", "bos_token", "+eos_token"),
      .never = LIST("<<SYS>>", "trim", "strip(", "[SYSTEM_PROMPT]", "\1 \1") },
    { .name = "mistral-v1", MISTRAL_FORM, .head = { NULL, " [INST] ", "" },
      .foot = { NULL, " [/INST]", "{eos}" }, .lead = " ", .where = CHAT_SYSTEM_FIRST, .closing = "\n\n",
      .proof = LIST("\1 [INST] \1", "\1 [/INST]\1", "\1 \1\2+message", "bos_token", "+eos_token"),
      .never = LIST("<<SYS>>", "trim", "strip(", "[SYSTEM_PROMPT]") },
    { .name = "mistral-v3", MISTRAL_FORM, .head = { NULL, "[INST] ", "" },
      .foot = { NULL, "[/INST]", "{eos}" }, .lead = " ", .trim_answer = true, .where = CHAT_SYSTEM_LAST,
      .closing = "\n\n",
      .proof = LIST("\1[INST] \1", "\1[/INST]\1", "\1 \1\2+", "bos_token", "|trim+eos_token"),
      .never = LIST("<<SYS>>", "[SYSTEM_PROMPT]") },
    { .name = "mistral-tekken", MISTRAL_FORM, .head = { NULL, "[INST]", "" },
      .foot = { NULL, "[/INST]", "{eos}" }, .where = CHAT_SYSTEM_LAST, .closing = "\n\n",
      .proof = LIST("\1[INST]\1", "\1[/INST]\1", "bos_token", "+eos_token"),
      .never = LIST("<<SYS>>", "[SYSTEM_PROMPT]", "\1 \1") },
    { .name = "zephyr", .head = { "<|system|>\n", "<|user|>\n", "<|assistant|>\n" },
      .foot = { "{eos}\n", "{eos}\n", "{eos}" }, .tail = "\n", .where = CHAT_SYSTEM_TURN,
      .proof = LIST("\1<|system|>\n\1", "\1<|user|>\n\1", "\1<|assistant|>\n\1", "+eos_token"),
      .never = LIST("trim", "strip(", "bos_token", "<|end|>") },
};
const size_t chat_forms_count = COUNT_OF(chat_forms);
