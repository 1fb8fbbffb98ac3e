/* Perpend's language models: text in, text out, from C or C++ (C99 and later, C++11 and later).
 *
 *   perpend_llm            a compiled model with its tokenizer, template and settings; read-only, shared by threads
 *   perpend_llm_sequence   one text: its tokens, the cache that the model keeps of them, and what is generated
 *
 * A sequence computes each token once. Where a text changes, the cache of what both have in common at the start stays,
 * so the next turn of a conversation costs its new tokens only. Functions that can fail return a perpend_status;
 * perpend_error_message() then describes the error. An error leaves a sequence's tokens as they were.
 * Threads: any number of sequences may be used at once, each from one thread at a time.
 *
 * They are in libperpend_llm.a, which needs, in this order, libperpend_{tokenizer,template,library,sampling,state}.a
 * and libperpend_runtime.a, -lm and -lpthread. A program that loads models from files has libperpend_loader.a and
 * libperpend_segments.a before libperpend_runtime.a. docs/howto/run-a-language-model.md has a whole program. */
#ifndef PERPEND_LLM_H
#define PERPEND_LLM_H
#include "perpend.h"
#include "perpend_sampling.h"
#include "perpend_tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perpend_llm perpend_llm;
typedef struct perpend_llm_sequence perpend_llm_sequence;

/* Opens what `perpend llm compile` has made. The model may be freed before *llm. Ownership: the caller frees *llm.
 * Errors: INVALID_ARGUMENT (a model that is no language model), CORRUPT, INCOMPATIBLE, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_llm_create(perpend_model *model, perpend_llm **llm);
/* After its sequences. NULL is ignored. */
PERPEND_API void perpend_llm_free(perpend_llm *llm);

/* The most tokens that a sequence has room for. */
PERPEND_API int64_t perpend_llm_context(const perpend_llm *llm);
/* How many logits the model computes. */
PERPEND_API int64_t perpend_llm_vocabulary(const perpend_llm *llm);
/* Ownership: the model's. NULL: it has none, and its texts are tokens: functions that take or give texts are errors
 * (INVALID_ARGUMENT), and the pieces of a generation are empty. */
PERPEND_API const perpend_tokenizer *perpend_llm_tokenizer(const perpend_llm *llm);
/* The tokens that end an answer. Ownership: the model's. */
PERPEND_API const int32_t *perpend_llm_stop_tokens(const perpend_llm *llm, int32_t *count);
/* 1: there is a chat template that can be rendered. */
PERPEND_API int32_t perpend_llm_has_template(const perpend_llm *llm);
/* Sets the options that the checkpoint has values for (temperature, topK, topP, minP, repetitionPenalty), and leaves
 * the others as they are. A generation does not do this by itself. `perpend llm run` and Python begin with
 * PERPEND_SAMPLER_DEFAULTS, temperature 0.8, topK 40, topP 0.95 and minP 0.05, call this, then set what is given. */
PERPEND_API void perpend_llm_sampling(const perpend_llm *llm, perpend_sampler_options *options);

typedef struct perpend_llm_message {
  perpend_string role; /* "system", "user" or "assistant"; the template decides what it accepts */
  perpend_string content;
} perpend_llm_message;

/* *text = what the model's chat template makes of the messages, ending where the assistant begins to speak. Ownership:
 * the caller frees *text with perpend_tokenizer_release. Errors: INVALID_ARGUMENT (no template, or one that could not
 * be compiled: the message says why), INVALID_DATA (an error of the template), OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_llm_render(const perpend_llm *llm, const perpend_llm_message *messages,
                                              int32_t count, char **text, int64_t *sizeBytes);

typedef struct perpend_llm_sequence_options {
  int64_t sizeBytes;   /* of this struct, as the caller knows it */
  int32_t threads;     /* at most this many, the caller included; 0: all cores the process may use */
  int32_t chunkTokens; /* a longer text is computed in pieces of this many tokens; 0: 256 */
} perpend_llm_sequence_options;

#define PERPEND_LLM_SEQUENCE_DEFAULTS {sizeof(perpend_llm_sequence_options), 0, 0}

/* An empty sequence; options may be NULL for the defaults. Its cache is address space until it is written. Ownership:
 * the caller frees *sequence. Errors: INVALID_ARGUMENT, INCOMPATIBLE, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_llm_sequence_create(const perpend_llm *llm,
                                                       const perpend_llm_sequence_options *options,
                                                       perpend_llm_sequence **sequence);
/* NULL is ignored. */
PERPEND_API void perpend_llm_sequence_free(perpend_llm_sequence *sequence);

/* A copy of the tokens and of the cache; what is being generated is not copied. Ownership: the caller frees *copy. */
PERPEND_API perpend_status perpend_llm_sequence_fork(perpend_llm_sequence *sequence, perpend_llm_sequence **copy);

/* The text becomes these tokens. Nothing is computed yet. Errors: INVALID_ARGUMENT (more than the context has room
 * for), INVALID_DATA (a token outside of the vocabulary), OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_llm_sequence_set(perpend_llm_sequence *sequence, const int32_t *tokens,
                                                    int64_t count);
/* These tokens follow. Errors: as perpend_llm_sequence_set. */
PERPEND_API perpend_status perpend_llm_sequence_add(perpend_llm_sequence *sequence, const int32_t *tokens,
                                                    int64_t count);
/* The text becomes the tokens of this text; flags as in perpend_tokenizer_encode. Errors: those of both. */
PERPEND_API perpend_status perpend_llm_sequence_set_text(perpend_llm_sequence *sequence, perpend_string text,
                                                         uint32_t flags);
/* The text becomes the conversation, as perpend_llm_render writes it. What the template writes like a special token
 * gives that token; what messages contain does not. Errors: those of both. */
PERPEND_API perpend_status perpend_llm_sequence_set_chat(perpend_llm_sequence *sequence,
                                                         const perpend_llm_message *messages, int32_t count);
/* Only the first `count` tokens stay. Errors: INVALID_ARGUMENT if there are fewer. */
PERPEND_API perpend_status perpend_llm_sequence_truncate(perpend_llm_sequence *sequence, int64_t count);

/* Writes tokens and cache to `data`, which has capacityBytes; *sizeBytes is how many are needed (data may be NULL to
 * ask). Errors: INVALID_ARGUMENT if there are too few. */
PERPEND_API perpend_status perpend_llm_sequence_save(perpend_llm_sequence *sequence, void *data, int64_t capacityBytes,
                                                     int64_t *sizeBytes);
/* The text and the cache become what perpend_llm_sequence_save wrote for a sequence of the same artifact: its
 * descriptor is compared, the checksum of its weights included. All is compared before anything changes: after an
 * error, text and cache are as before. Errors: INVALID_ARGUMENT (NULL), CORRUPT (not what perpend_llm_sequence_save
 * wrote), INCOMPATIBLE (another model or version), OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_llm_sequence_load(perpend_llm_sequence *sequence, const void *data,
                                                     int64_t sizeBytes);

/* The tokens so far, and how many of them the cache has. Ownership: the sequence's, valid until its next call. */
PERPEND_API void perpend_llm_sequence_tokens(const perpend_llm_sequence *sequence, const int32_t **tokens,
                                             int64_t *count, int64_t *cachedCount);

/* Computes what the cache does not have yet. *logits = those of the token that follows the text, *count of them.
 * Ownership: the sequence's, valid until its next call. Errors: INVALID_ARGUMENT for an empty text; those of
 * perpend_session_run. */
PERPEND_API perpend_status perpend_llm_sequence_logits(perpend_llm_sequence *sequence, const float **logits,
                                                       int64_t *count);

/* *logits = those behind each of the last `rows` tokens, [rows, vocabulary]: those of the token that follows each.
 * These tokens are computed again in one run, whatever the cache has. Ownership: the sequence's, valid until its next
 * call. Errors: INVALID_ARGUMENT for rows that are not 1 to the number of tokens, or a model without the entry
 * `verify`; those of perpend_session_run. */
PERPEND_API perpend_status perpend_llm_sequence_row_logits(perpend_llm_sequence *sequence, int64_t rows,
                                                           const float **logits);

/* The elements of an embedding: the width of the model. 0: it has no entry `embed`. */
PERPEND_API int64_t perpend_llm_embedding_size(const perpend_llm *llm);

typedef enum perpend_llm_pooling {
  PERPEND_LLM_MEAN = 0, /* the mean over all tokens */
  PERPEND_LLM_LAST = 1, /* that of the last token, which has seen all */
  PERPEND_LLM_ALL = 2   /* no pooling: [tokens, size] */
} perpend_llm_pooling;

/* *values = the hidden states of the text, h = what the model's head takes of each token, behind the last norm; pooled.
 * *count of them: perpend_llm_embedding_size, or that many for each token. Ownership: the sequence's, valid until its
 * next call. Errors: INVALID_ARGUMENT for an empty text, another pooling, or a model without the entry `embed`;
 * OUT_OF_MEMORY; those of perpend_session_run. */
PERPEND_API perpend_status perpend_llm_sequence_embed(perpend_llm_sequence *sequence, int32_t pooling,
                                                      const float **values, int64_t *count);

#define PERPEND_LLM_MOST_BEAMS 32

/* How a text is continued. Start from PERPEND_LLM_GENERATION_DEFAULTS. */
typedef struct perpend_llm_generation {
  int64_t sizeBytes;                      /* of this struct, as the caller knows it */
  const perpend_sampler_options *sampler; /* NULL: the defaults. Stop tokens are the model's unless it has some */
  int64_t maxTokens;                      /* -1: until the model stops, or the context is full */
  const perpend_string *stopStrings;
  int32_t stopStringCount;
  int32_t ignoresStopTokens; /* 1: they are tokens like others */
  uint32_t choice;           /* as in perpend_sampler_input */
  uint32_t decoding;         /* flags of perpend_token_stream_create */
  int32_t beams; /* 2 to PERPEND_LLM_MOST_BEAMS: the most probable text that a search with so many beams finds, as of
                    perpend_beams_create, after the penalties and the bias of the sampler; its filters do
                    not count. The first call of perpend_llm_sequence_next searches. 0 or 1: no search */
  int32_t beamsEnding;  /* a perpend_beams_ending */
  double lengthPenalty; /* of the search: above 0 prefers long texts */
} perpend_llm_generation;

#define PERPEND_LLM_GENERATION_DEFAULTS                                                                                \
  {sizeof(perpend_llm_generation), 0, -1, 0, 0, 0, 0, PERPEND_SKIP_SPECIAL, 0, PERPEND_BEAMS_LIKELY, 1}

typedef enum perpend_llm_finish {
  PERPEND_LLM_GOES_ON = 0,
  PERPEND_LLM_STOP = 1,  /* the model has chosen a stop token, or the text contains a stop string */
  PERPEND_LLM_LENGTH = 2 /* maxTokens were generated, or the context is full */
} perpend_llm_finish;

/* One step. */
typedef struct perpend_llm_piece {
  int32_t token;       /* the chosen one, which is now a part of the text; -1: there was no room for one */
  int32_t finish;      /* a perpend_llm_finish */
  int32_t stopString;  /* the index of the stop string that ended the text; -1: none */
  perpend_string text; /* what may be shown now: whole characters, and nothing that may begin a stop string */
} perpend_llm_piece;

/* The text as it is now becomes the prompt of a generation. Options may be NULL, and are copied. Errors:
 * INVALID_ARGUMENT, INCOMPATIBLE, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_llm_sequence_start(perpend_llm_sequence *sequence,
                                                      const perpend_llm_generation *options);

/* Chooses the next token. All texts in a row are what the tokens stand for. A stop token has no text; a stop string is
 * left out, and so is what follows it in its last token. After the end, every call says the same end, without a text.
 * A call of another function that changes the tokens ends the generation. Ownership: the sequence's, valid until its
 * next call. Errors: INVALID_ARGUMENT if nothing was started, those of perpend_llm_sequence_logits and
 * perpend_sampler_sample. */
PERPEND_API perpend_status perpend_llm_sequence_next(perpend_llm_sequence *sequence, perpend_llm_piece *piece);

/* What perpend_sampler_logprobs says of the token that perpend_llm_sequence_next has just chosen: the natural logarithm
 * of its probability, and those of the topLogprobs most probable tokens, the most probable first. Ownership: the
 * sequence's, valid until its next call. Errors: INVALID_ARGUMENT if the latest call of perpend_llm_sequence_next chose
 * no token, its generation has ended since, or topLogprobs of the sampler is -1. */
PERPEND_API perpend_status perpend_llm_sequence_logprobs(const perpend_llm_sequence *sequence, double *chosen,
                                                         const int32_t **tokens, const double **logprobs,
                                                         int32_t *count);

#ifdef __cplusplus
}
#endif
#endif
