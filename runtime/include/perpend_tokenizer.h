/* Perpend's tokenizers: text to token ids and back, from C or C++ (C99 and later, C++11 and later).
 *
 * A tokenizer is a table of bytes that the compiler makes from tokenizer.json, tokenizer.model or a GGUF file; this
 * library reads nothing else. Functions that can fail return a perpend_status; perpend_error_message() then describes
 * the error. Threads: a tokenizer may be used from any number of threads; a stream from one thread at a time. */
#ifndef PERPEND_TOKENIZER_H
#define PERPEND_TOKENIZER_H
#include "perpend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perpend_tokenizer perpend_tokenizer;
typedef struct perpend_token_stream perpend_token_stream;

/* For encoding, and for decoding; combined by |. */
enum {
  PERPEND_ADD_SPECIAL = 1,   /* encode: add the tokens at the start and the end that the file asks for, such as <s> */
  PERPEND_PARSE_SPECIAL = 2, /* encode: text spelt like a special token gives that token. Not for text of a user */
  PERPEND_SKIP_SPECIAL = 4,  /* decode: leave out special tokens */
  PERPEND_RAW_BYTES = 8      /* decode: bytes that are not UTF-8 come out as they are, not as U+FFFD */
};

/* Opens a table. It is not copied: it must outlive *tokenizer, at an address that is a multiple of 8. Ownership: the
 * caller frees *tokenizer. Errors: INVALID_ARGUMENT, INCOMPATIBLE, CORRUPT, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_tokenizer_create(const void *table, int64_t tableBytes,
                                                    perpend_tokenizer **tokenizer);
PERPEND_API void perpend_tokenizer_free(perpend_tokenizer *tokenizer);

/* One more than the largest id. */
PERPEND_API int32_t perpend_tokenizer_size(const perpend_tokenizer *tokenizer);

/* The spelling of a token in the vocabulary (not NUL-terminated), or data NULL if no token has this id. Ownership: the
 * table's. */
PERPEND_API perpend_string perpend_tokenizer_token(const perpend_tokenizer *tokenizer, int32_t id);

/* The id of a token with this spelling, special or not; -1: there is none. */
PERPEND_API int32_t perpend_tokenizer_find(const perpend_tokenizer *tokenizer, perpend_string spelling);

/* *ids = the tokens of a text, which need not be valid UTF-8. Ownership: the caller frees *ids with
 * perpend_tokenizer_release. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, INVALID_DATA (a character that the vocabulary
 * cannot express, a pattern that takes too many steps). */
PERPEND_API perpend_status perpend_tokenizer_encode(const perpend_tokenizer *tokenizer, perpend_string text,
                                                    uint32_t flags, int32_t **ids, int64_t *count);

/* *text = what the tokens stand for. Ownership and errors as in perpend_tokenizer_encode; an id without a token is
 * INVALID_DATA. */
PERPEND_API perpend_status perpend_tokenizer_decode(const perpend_tokenizer *tokenizer, const int32_t *ids,
                                                    int64_t count, uint32_t flags, char **text, int64_t *sizeBytes);
PERPEND_API void perpend_tokenizer_release(void *memory);

/* A stream decodes tokens one by one: its texts, one after another, are what perpend_tokenizer_decode makes of all of
 * the tokens. A text that depends on tokens to come is held back, such as the first bytes of a character. *text is
 * valid until the next call with the stream. The tokenizer must outlive the stream. */
PERPEND_API perpend_status perpend_token_stream_create(const perpend_tokenizer *tokenizer, uint32_t flags,
                                                       perpend_token_stream **stream);
PERPEND_API perpend_status perpend_token_stream_add(perpend_token_stream *stream, int32_t id, perpend_string *text);
/* The rest; the stream is then as new. */
PERPEND_API perpend_status perpend_token_stream_finish(perpend_token_stream *stream, perpend_string *text);
PERPEND_API void perpend_token_stream_free(perpend_token_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
