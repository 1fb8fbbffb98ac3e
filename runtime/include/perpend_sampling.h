/* Perpend's decoding strategies: from a language model's logits to its next token (C99 and later, C++11 and later).
 *
 *   perpend_sampler   greedy choice, or a draw after penalties and filters; log-probabilities
 *   perpend_stop      stop strings in a text that arrives in pieces
 *   perpend_beams     beam search
 *
 * Functions that can fail return a perpend_status; perpend_error_message() then describes the error. The others require
 * an object that is not NULL. An error changes nothing.
 * Threads: any number of objects may be used at once, each from one thread at a time. */
#ifndef PERPEND_SAMPLING_H
#define PERPEND_SAMPLING_H
#include "perpend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perpend_sampler perpend_sampler;
typedef struct perpend_stop perpend_stop;
typedef struct perpend_beams perpend_beams;

/* In which order the filters follow each other. */
typedef enum perpend_sampling_order {
  PERPEND_TEMPERATURE_FIRST = 0, /* as in transformers: temperature, top-k, top-p, min-p, typical */
  PERPEND_TEMPERATURE_LAST = 1   /* as in llama.cpp: top-k, typical, top-p, min-p, temperature */
} perpend_sampling_order;

/* Whose log-probabilities are reported. */
typedef enum perpend_logprobs_of {
  PERPEND_LOGPROBS_OF_MODEL = 0, /* the softmax of the logits as they are given */
  PERPEND_LOGPROBS_OF_DRAW = 1   /* the distribution that the token is drawn from, which has the tokens kept only */
} perpend_logprobs_of;

/* How to choose. Start from PERPEND_SAMPLER_DEFAULTS. Of tokens with equal logits, those of lower ids come first.
 * The logits are changed in this order, before the filters:
 *   allowed tokens (of the input)   others get -inf
 *   bias                            l + bias
 *   repetition penalty              l / r, or l * r where l < 0, for each token that occurred
 *   frequency and presence          l - frequency * count - presence, for each token that was generated
 *   n-grams and stop tokens         -inf for a token that would repeat one, or would stop too early
 * Each filter sees what the one before it has left: it is applied to their probabilities, which add up to 1. */
typedef struct perpend_sampler_options {
  int64_t sizeBytes;        /* of this struct, as the caller knows it */
  double temperature;       /* logits are divided by it; 0: greedy, the token of the largest logit, without filters */
  double topP;              /* keeps the most probable tokens, as few as reach this sum; 0: one, 1: all */
  double minP;              /* keeps tokens at least this many times as probable as the most probable one; 0: all */
  double typicalP;          /* keeps those whose surprise is closest to the entropy, as few as reach this sum; 1: all */
  double repetitionPenalty; /* above 0; 1: none */
  double presencePenalty;   /* 0: none */
  double frequencyPenalty;  /* 0: none */
  int64_t penaltyWindow;    /* penalties count this many of the latest tokens; 0: all */
  int32_t topK;             /* keeps the k tokens of the largest logits; 0: all */
  int32_t noRepeatNgram;    /* no n tokens in a row occur twice, those of the prompt included; 0: they may */
  int32_t topLogprobs;      /* how many tokens perpend_sampler_logprobs names; -1: no log-probabilities are computed */
  int32_t biasCount;        /* of the two arrays that follow; a token may occur several times */
  const int32_t *biasTokens;
  const float *biases;       /* -inf excludes a token */
  const int32_t *stopTokens; /* a choice of one of these is reported */
  int32_t stopTokenCount;
  int32_t minTokens; /* stop tokens are excluded until so many tokens have been generated */
  uint64_t seed;
  int32_t order;      /* a perpend_sampling_order */
  int32_t logprobsOf; /* a perpend_logprobs_of */
} perpend_sampler_options;

#define PERPEND_SAMPLER_DEFAULTS                                                                                       \
  {sizeof(perpend_sampler_options), 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, PERPEND_TEMPERATURE_FIRST,  \
   PERPEND_LOGPROBS_OF_MODEL}

/* One choice. The arrays are the caller's and are only read during a call. */
typedef struct perpend_sampler_input {
  const float *logits;   /* count of them; -inf excludes a token, NaN and +inf are errors */
  int64_t count;         /* the size of the vocabulary, at most 2^31 - 1 */
  const int32_t *tokens; /* the prompt and what was generated so far. May be NULL without penalties and n-grams */
  int64_t tokenCount;
  int64_t promptCount;     /* how many of them are the prompt: presence and frequency count those that follow. 0 counts
                              the prompt as well, as llama.cpp does */
  const uint32_t *allowed; /* bit i % 32 of word i / 32 allows token i; NULL: all are allowed */
  uint64_t position;       /* these three select the random number: seed, choice, position. Counts generated tokens */
  uint32_t choice;         /* the number of this answer among several for one prompt */
} perpend_sampler_input;

/* Creates a sampler; options may be NULL for the defaults, and are copied. A sampler has no state but memory: a choice
 * depends on its input and the options alone, and is the same on any machine, in any batch, with any number of threads.
 * Ownership: the caller frees *sampler. Errors: INVALID_ARGUMENT, INCOMPATIBLE (options that this version does not
 * know), OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_sampler_create(const perpend_sampler_options *options, perpend_sampler **sampler);

/* Replaces the options, as if the sampler were a new one. It keeps its memory, some megabytes for a vocabulary of
 * 150,000: a program with many texts needs a sampler for each thread only. Errors: as perpend_sampler_create. */
PERPEND_API perpend_status perpend_sampler_set_options(perpend_sampler *sampler,
                                                       const perpend_sampler_options *options);

/* NULL is ignored. */
PERPEND_API void perpend_sampler_free(perpend_sampler *sampler);

/* *token = the choice. Errors: INVALID_ARGUMENT; INVALID_DATA for a logit that is NaN or +inf, logits that are all
 * -inf, and tokens outside the vocabulary; OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_sampler_sample(perpend_sampler *sampler, const perpend_sampler_input *input,
                                                  int32_t *token);

/* 1: the token is one of the options' stop tokens. */
PERPEND_API int32_t perpend_sampler_stops(const perpend_sampler *sampler, int32_t token);

/* The log-probability of the latest choice, and of the topLogprobs most probable tokens, the most probable first (fewer
 * if fewer are possible). Ownership: the sampler's, valid until its next call. Errors: INVALID_ARGUMENT when
 * topLogprobs is -1, or nothing was chosen yet. */
PERPEND_API perpend_status perpend_sampler_logprobs(const perpend_sampler *sampler, double *chosen,
                                                    const int32_t **tokens, const double **logprobs, int32_t *count);

/* The distribution that perpend_sampler_sample draws from: the tokens kept, by id, and their probabilities, which add
 * up to 1. Ownership: the sampler's, valid until its next call. Errors: as perpend_sampler_sample. */
PERPEND_API perpend_status perpend_sampler_distribution(perpend_sampler *sampler, const perpend_sampler_input *input,
                                                        const int32_t **tokens, const double **probabilities,
                                                        int64_t *count);

/* Writes input->count logits as the filters get them, with the bias, the penalties and -inf for excluded tokens: for a
 * search with beams. They may overwrite those of the input. Errors: as perpend_sampler_sample. */
PERPEND_API perpend_status perpend_sampler_edit(perpend_sampler *sampler, const perpend_sampler_input *input,
                                                float *edited);

/* Writes the natural logarithms of the probabilities that input->count logits stand for, and edits these as
 * perpend_sampler_edit does: a row of a search with beams whose rowsAreLogprobs is 1. They must not
 * overwrite the logits. Errors: as perpend_sampler_sample. */
PERPEND_API perpend_status perpend_sampler_score(perpend_sampler *sampler, const perpend_sampler_input *input,
                                                 float *logprobs);

/* The number in [0, 1) that decides a draw. Philox4x32-10: the seed is the key, position and choice are the counter. */
PERPEND_API double perpend_random_number(uint64_t seed, uint32_t choice, uint64_t position);

/* Looks for stop strings in a text that arrives in pieces. The first one to be complete ends the text, the longest one
 * if several end together, and neither it nor what follows is released. What may be the beginning of one is held back
 * until it is known to be none, so what is released does not depend on where the pieces end. Errors: INVALID_ARGUMENT
 * for an empty string, OUT_OF_MEMORY. Ownership: the strings are copied; the caller frees *stop. */
PERPEND_API perpend_status perpend_stop_create(const perpend_string *strings, int32_t count, perpend_stop **stop);
/* NULL is ignored. */
PERPEND_API void perpend_stop_free(perpend_stop *stop);

/* Adds a piece of any bytes. *released = what may be shown now; *found = the index of the stop string that ended the
 * text, or -1. After the end, pieces are ignored and *found stays. Ownership: the object's, valid until its next call.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_stop_add(perpend_stop *stop, perpend_string piece, perpend_string *released,
                                            int32_t *found);

/* The text ends here: *released = what was held back. The object is then as new, for another text. */
PERPEND_API perpend_status perpend_stop_finish(perpend_stop *stop, perpend_string *released);

/* When beam search ends, other than with maxTokens. */
typedef enum perpend_beams_ending {
  PERPEND_BEAMS_LIKELY = 0, /* no beam, scored at its present length, is better than the worst of the finished ones */
  PERPEND_BEAMS_FULL = 1,   /* as many are finished as there are beams */
  PERPEND_BEAMS_CERTAIN = 2 /* no beam can become better than the worst of the finished ones */
} perpend_beams_ending;

typedef struct perpend_beams_options {
  int64_t sizeBytes;         /* of this struct, as the caller knows it */
  int32_t beams;             /* at least 1 */
  int32_t ending;            /* a perpend_beams_ending */
  double lengthPenalty;      /* a finished beam of n tokens scores (sum of log-probabilities) / n ^ lengthPenalty */
  int64_t maxTokens;         /* beams of this many tokens are finished; at least 1 */
  const int32_t *stopTokens; /* a beam that gets one of them is finished; the token is part of it */
  int32_t stopTokenCount;
  int32_t rowsAreLogprobs; /* 1: rows are log-probabilities, and are added as they are, edited ones too */
} perpend_beams_options;

#define PERPEND_BEAMS_DEFAULTS {sizeof(perpend_beams_options), 4, PERPEND_BEAMS_LIKELY, 1, 256, 0, 0, 0}

typedef struct perpend_beam {
  const int32_t *tokens; /* generated so far, without the prompt. Ownership: the search's, valid until its next call */
  int64_t count;
  double score;   /* of a live beam the sum of its log-probabilities; of a finished one divided by its length */
  int32_t parent; /* of a live beam: which row of the latest step it continues, so whose cache */
} perpend_beam;

/* Starts with one live beam without tokens; the options are copied. A search is that of transformers: each step takes
 * the best continuations of all live beams; those of the best `beams` that stop are finished, the others live on.
 * Ownership: the caller frees *beams. Errors: INVALID_ARGUMENT, INCOMPATIBLE, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_beams_create(const perpend_beams_options *options, perpend_beams **beams);
/* NULL is ignored. */
PERPEND_API void perpend_beams_free(perpend_beams *beams);

/* Continues every live beam by a token. logits has a row of `count` for each, in their order. Errors: INVALID_ARGUMENT,
 * INVALID_DATA (as perpend_sampler_sample), OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_beams_step(perpend_beams *beams, const float *logits, int32_t rows, int64_t count);

/* How many beams live, the best first; 0: the search has ended. How many are finished, the best first. */
PERPEND_API int32_t perpend_beams_live_count(const perpend_beams *beams);
PERPEND_API int32_t perpend_beams_finished_count(const perpend_beams *beams);

/* Errors: INVALID_ARGUMENT for an index out of range, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_beams_live(perpend_beams *beams, int32_t index, perpend_beam *beam);
PERPEND_API perpend_status perpend_beams_finished(perpend_beams *beams, int32_t index, perpend_beam *beam);

#ifdef __cplusplus
}
#endif
#endif
