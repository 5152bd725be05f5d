/* Shapes of published models, from their config.json, for counting. */
#ifndef TESTS_METHOD_PUBLISHED_H
#define TESTS_METHOD_PUBLISHED_H

#define ROBERTA_BASE                                                                               \
    "{\"model_type\":\"roberta\",\"hidden_size\":768,\"num_hidden_layers\":12,"                    \
    "\"num_attention_heads\":12,\"intermediate_size\":3072,\"vocab_size\":50265,"                  \
    "\"max_position_embeddings\":514,\"type_vocab_size\":1,\"pad_token_id\":1,"                    \
    "\"layer_norm_eps\":1e-5,\"hidden_act\":\"gelu\"}"
#define ROBERTA_LARGE                                                                              \
    "{\"model_type\":\"roberta\",\"hidden_size\":1024,\"num_hidden_layers\":24,"                   \
    "\"num_attention_heads\":16,\"intermediate_size\":4096,\"vocab_size\":50265,"                  \
    "\"max_position_embeddings\":514,\"type_vocab_size\":1,\"pad_token_id\":1,"                    \
    "\"layer_norm_eps\":1e-5,\"hidden_act\":\"gelu\"}"
#define BART_BASE                                                                                  \
    "{\"model_type\":\"bart\",\"d_model\":768,\"encoder_layers\":6,\"decoder_layers\":6,"          \
    "\"encoder_attention_heads\":12,\"decoder_attention_heads\":12,\"encoder_ffn_dim\":3072,"      \
    "\"decoder_ffn_dim\":3072,\"vocab_size\":50265,\"max_position_embeddings\":1024,"              \
    "\"activation_function\":\"gelu\",\"decoder_start_token_id\":2,\"eos_token_id\":2,"            \
    "\"bos_token_id\":0,\"pad_token_id\":1,\"forced_eos_token_id\":2}"
#define BART_LARGE                                                                                 \
    "{\"model_type\":\"bart\",\"d_model\":1024,\"encoder_layers\":12,\"decoder_layers\":12,"       \
    "\"encoder_attention_heads\":16,\"decoder_attention_heads\":16,\"encoder_ffn_dim\":4096,"      \
    "\"decoder_ffn_dim\":4096,\"vocab_size\":50265,\"max_position_embeddings\":1024,"              \
    "\"activation_function\":\"gelu\",\"decoder_start_token_id\":2,\"eos_token_id\":2,"            \
    "\"bos_token_id\":0,\"pad_token_id\":1,\"forced_eos_token_id\":2}"
#define T5_SMALL                                                                                   \
    "{\"model_type\":\"t5\",\"d_model\":512,\"d_kv\":64,\"d_ff\":2048,\"num_layers\":6,"           \
    "\"num_decoder_layers\":6,\"num_heads\":8,\"vocab_size\":32128,"                               \
    "\"feed_forward_proj\":\"relu\",\"relative_attention_num_buckets\":32,"                        \
    "\"decoder_start_token_id\":0,\"eos_token_id\":1,\"pad_token_id\":0}"
#define T5_BASE                                                                                    \
    "{\"model_type\":\"t5\",\"d_model\":768,\"d_kv\":64,\"d_ff\":3072,\"num_layers\":12,"          \
    "\"num_decoder_layers\":12,\"num_heads\":12,\"vocab_size\":32128,"                             \
    "\"feed_forward_proj\":\"relu\",\"relative_attention_num_buckets\":32,"                        \
    "\"decoder_start_token_id\":0,\"eos_token_id\":1,\"pad_token_id\":0}"
#define FLAN_T5_LARGE                                                                              \
    "{\"model_type\":\"t5\",\"d_model\":1024,\"d_kv\":64,\"d_ff\":2816,\"num_layers\":24,"         \
    "\"num_decoder_layers\":24,\"num_heads\":16,\"vocab_size\":32128,"                             \
    "\"feed_forward_proj\":\"gated-gelu\",\"relative_attention_num_buckets\":32,"                  \
    "\"tie_word_embeddings\":false,\"decoder_start_token_id\":0,\"eos_token_id\":1,"               \
    "\"pad_token_id\":0}"
#define FLAN_T5_SMALL                                                                              \
    "{\"model_type\":\"t5\",\"d_model\":512,\"d_kv\":64,\"d_ff\":1024,\"num_layers\":8,"           \
    "\"num_decoder_layers\":8,\"num_heads\":6,\"vocab_size\":32128,"                               \
    "\"feed_forward_proj\":\"gated-gelu\",\"relative_attention_num_buckets\":32,"                  \
    "\"tie_word_embeddings\":false,\"decoder_start_token_id\":0,\"eos_token_id\":1,"               \
    "\"pad_token_id\":0}"

/* Decoder-only models. */
#define SMOLLM2 \
    "{\"model_type\":\"llama\",\"vocab_size\":49152,\"hidden_size\":576," \
    "\"intermediate_size\":1536,\"num_hidden_layers\":30,\"num_attention_heads\":9," \
    "\"num_key_value_heads\":3,\"head_dim\":64,\"tie_word_embeddings\":true}"
#define QWEN2 \
    "{\"model_type\":\"qwen2\",\"vocab_size\":151936,\"hidden_size\":896," \
    "\"intermediate_size\":4864,\"num_hidden_layers\":24," \
    "\"num_attention_heads\":14,\"num_key_value_heads\":2,\"head_dim\":64," \
    "\"tie_word_embeddings\":true}"
#define QWEN3 \
    "{\"model_type\":\"qwen3\",\"vocab_size\":151936,\"hidden_size\":1024," \
    "\"intermediate_size\":3072,\"num_hidden_layers\":28," \
    "\"num_attention_heads\":16,\"num_key_value_heads\":8,\"head_dim\":128," \
    "\"tie_word_embeddings\":true}"
#define LLAMA \
    "{\"model_type\":\"llama\",\"vocab_size\":128256,\"hidden_size\":2048," \
    "\"intermediate_size\":8192,\"num_hidden_layers\":16," \
    "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"head_dim\":64," \
    "\"tie_word_embeddings\":true}"
#define TINYLLAMA \
    "{\"model_type\":\"llama\",\"vocab_size\":32000,\"hidden_size\":2048," \
    "\"intermediate_size\":5632,\"num_hidden_layers\":22," \
    "\"num_attention_heads\":32,\"num_key_value_heads\":4,\"head_dim\":64," \
    "\"tie_word_embeddings\":false}"

#endif
