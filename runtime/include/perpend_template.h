/* Chat templates: texts in Jinja's language that turn messages into a prompt. The compiler parses a template into a
 * table of bytes; the functions here render it. They are in libperpend_template.a, need libperpend_library.a and the C
 * library, and keep no state: threads may render the same table at once.
 *
 * A template gets values: a tree of plain structs that the caller builds, or reads from JSON. Rendering copies nothing
 * of it, and the tree must not change meanwhile. */
#ifndef PERPEND_TEMPLATE_H
#define PERPEND_TEMPLATE_H
#include "perpend.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum perpend_value_kind {
  PERPEND_VALUE_NONE = 0,
  PERPEND_VALUE_BOOL = 1,    /* integer: 0 or 1 */
  PERPEND_VALUE_INTEGER = 2, /* integer */
  PERPEND_VALUE_FLOAT = 3,   /* number */
  PERPEND_VALUE_TEXT = 4,    /* text: UTF-8, `size` bytes */
  PERPEND_VALUE_LIST = 5,    /* items: `size` values */
  PERPEND_VALUE_TUPLE = 6,   /* items: `size` values; a list that prints as (1, 2) and equals no list */
  PERPEND_VALUE_DICT = 7     /* items: `size` pairs, a key and a value each; keys are not lists, tuples or dicts */
} perpend_value_kind;

typedef struct perpend_value {
  uint32_t kind;   /* perpend_value_kind */
  uint32_t detail; /* 0 */
  union {
    int64_t integer;
    double number;
    const char *text;
    const struct perpend_value *items;
    void *object; /* of kinds that only templates make */
  } as;
  size_t size;
} perpend_value;

/* What a template may use. 0 stands for the value in parentheses. */
typedef struct perpend_template_limits {
  uint64_t steps; /* nodes that are evaluated, and the work of filters and methods in similar units (10,000,000) */
  uint64_t memoryBytes; /* of all values that the template makes, the output included (256 MiB) */
  uint64_t outputBytes; /* of the rendered text (64 MiB) */
  uint32_t depth;       /* nested expressions, statements, calls of macros, and values (1000) */
} perpend_template_limits;

#define PERPEND_TEMPLATE_MESSAGE_BYTES 512

typedef struct perpend_rendering {
  char *text; /* the rendered text, with a NUL behind it; NULL after an error */
  size_t bytes;
  char message[PERPEND_TEMPLATE_MESSAGE_BYTES]; /* of an error: "line 3: ...", without a NUL inside */
} perpend_rendering;

/* Renders a table with `variables`, a dict. `limits`: NULL for all defaults. `rendering` is overwritten; free it.
 * Errors: INVALID_ARGUMENT (values that break the rules above), CORRUPT (the table), OUT_OF_MEMORY, INVALID_DATA (an
 * error of the template, raise_exception, or a limit). */
PERPEND_API perpend_status perpend_template_render(const void *table, size_t tableBytes, const perpend_value *variables,
                                                   const perpend_template_limits *limits, perpend_rendering *rendering);

/* Frees the text. */
PERPEND_API void perpend_rendering_free(perpend_rendering *rendering);

typedef struct perpend_json {
  perpend_value value;
  void *memory;
  char message[PERPEND_TEMPLATE_MESSAGE_BYTES]; /* of an error: "byte 17: ..." */
} perpend_json;

/* Reads JSON as Python's json does: NaN, Infinity and -Infinity are numbers, and of equal keys the last counts. An
 * integer must fit into 64 bits. `limits`: memoryBytes and depth count. Free it after the last rendering that uses the
 * value. Errors: INVALID_DATA, OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_json_read(const char *text, size_t bytes, const perpend_template_limits *limits,
                                             perpend_json *json);

PERPEND_API void perpend_json_free(perpend_json *json);

#ifdef __cplusplus
}
#endif
#endif
