/* The interface of library calls: C functions that a compiled model calls for work other than array arithmetic.
 *
 *   perpend_status perpend_<library>_<name>(perpend_call *call);
 *
 * The function reads its inputs and parameters, allocates every output once, fills it, and returns PERPEND_OK; or it
 * returns perpend_call_fail(call, "...").
 * Texts: an element of a PERPEND_STRING input or output is the identity of a text, an int64_t. Equal texts have equal
 * identities; 0 is the empty text.
 * Lists: an input or output of type PERPEND_SEQUENCE or PERPEND_OPTIONAL is the handle of a list, one int64_t; 0 is the
 * empty list. Lists are immutable.
 * Threads: a function is called on one thread, and may distribute work (perpend_call_parallel); other sessions may run
 * the same function at the same time.
 * Ownership: memory from the call must not be used after the function returns.
 */
#ifndef PERPEND_OPERATOR_H
#define PERPEND_OPERATOR_H
#include "perpend.h"
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perpend_call perpend_call;
typedef perpend_status (*perpend_operator)(perpend_call *call);
typedef void (*perpend_call_body)(void *context, int64_t begin, int64_t end);

/* The caller's services for a function; use the inline functions below. */
typedef struct perpend_call_services {
  void *(*allocate)(perpend_call *call, int32_t output, const int64_t *shape, int32_t rank);
  perpend_status (*fail)(perpend_call *call, const char *format, va_list arguments);
  perpend_string (*text)(perpend_call *call, int64_t identity);
  int64_t (*identity)(perpend_call *call, const char *data, int64_t sizeBytes);
  int64_t (*listCount)(perpend_call *call, int64_t list);
  const perpend_tensor *(*listElement)(perpend_call *call, int64_t list, int64_t position);
  int64_t (*listInsert)(perpend_call *call, int64_t list, int64_t position, const perpend_tensor *element);
  int64_t (*listErase)(perpend_call *call, int64_t list, int64_t position);
  int32_t (*integer)(perpend_call *call, const char *name, int64_t *value);
  int32_t (*number)(perpend_call *call, const char *name, double *value);
  int64_t (*word)(perpend_call *call, const char *name, char *text, int64_t capacity);
  const int64_t *(*expectedShape)(perpend_call *call, int32_t output);
  void *(*scratch)(perpend_call *call, int64_t bytes);
  void (*parallel)(perpend_call *call, perpend_call_body body, void *context, int64_t extent, int64_t grain);
  void *(*keep)(perpend_call *call, const void *key, int64_t keyBytes, int64_t bytes, int32_t *isNew);
} perpend_call_services;

struct perpend_call {
  const perpend_call_services *services;
  const perpend_tensor *inputs;
  const perpend_type *outputTypes;
  int32_t inputCount, outputCount;
  /* A JSON object, NUL-terminated: numbers, texts and lists of these. Floats have a '.' or an 'e'; infinity is 1e999.
   */
  const char *parameters;
};

/* Memory for an output, 64-byte aligned. NULL if out of memory, if the shape contradicts the model, or if the output is
 * already allocated: then return PERPEND_OUT_OF_MEMORY (the cause has been recorded). */
static inline void *perpend_call_allocate(perpend_call *call, int32_t output, const int64_t *shape, int32_t rank) {
  return call->services->allocate(call, output, shape, rank);
}

/* An output's extents in the model, one per dimension; -1 for an extent that the function chooses. */
static inline const int64_t *perpend_call_expected_shape(perpend_call *call, int32_t output) {
  return call->services->expectedShape(call, output);
}

/* Scratch memory, valid until the function returns; 64-byte aligned, uninitialised. The session reuses it in the next
 * run. NULL if out of memory. */
static inline void *perpend_call_scratch(perpend_call *call, int64_t bytes) {
  return call->services->scratch(call, bytes);
}

/* Memory for a table that depends on nothing but the key, at most 64 bytes; 64-byte aligned. isNew: 1 if the function
 * has to fill it, before it returns; 0 if it still has what an earlier call of the same function wrote for this key.
 * The session keeps a few of them. NULL if out of memory. */
static inline void *perpend_call_keep(perpend_call *call, const void *key, int64_t keyBytes, int64_t bytes,
                                      int32_t *isNew) {
  return call->services->keep(call, key, keyBytes, bytes, isNew);
}

/* Runs body over disjoint parts of [0, extent), each of at least grain units, on the threads of the session, and
 * returns when all are done. A part that is worth a thread takes some microseconds. body must not use the call. */
static inline void perpend_call_parallel(perpend_call *call, perpend_call_body body, void *context, int64_t extent,
                                         int64_t grain) {
  call->services->parallel(call, body, context, extent, grain);
}

/* Records why the call failed (format as printf's). Returns the status that the function should return. */
static inline perpend_status perpend_call_fail(perpend_call *call, const char *format, ...) {
  va_list arguments;
  perpend_status status;
  va_start(arguments, format);
  status = call->services->fail(call, format, arguments);
  va_end(arguments);
  return status;
}

/* The text of an identity, which must come from an input or from perpend_call_identity. */
static inline perpend_string perpend_call_text(perpend_call *call, int64_t identity) {
  return call->services->text(call, identity);
}

/* The identity of a text, which is copied. -1 if out of memory. */
static inline int64_t perpend_call_identity(perpend_call *call, const char *data, int64_t sizeBytes) {
  return call->services->identity(call, data, sizeBytes);
}

/* Lists. An element's data has the form of an input of its type. insert and erase make a new list; they return -1 if
 * out of memory, or if the extents have no valid size. element returns NULL unless position is in [0, count). */
static inline int64_t perpend_call_list_count(perpend_call *call, int64_t list) {
  return call->services->listCount(call, list);
}
static inline const perpend_tensor *perpend_call_list_element(perpend_call *call, int64_t list, int64_t position) {
  return call->services->listElement(call, list, position);
}
static inline int64_t perpend_call_list_insert(perpend_call *call, int64_t list, int64_t position,
                                               const perpend_tensor *element) {
  return call->services->listInsert(call, list, position, element);
}
static inline int64_t perpend_call_list_erase(perpend_call *call, int64_t list, int64_t position) {
  return call->services->listErase(call, list, position);
}

/* Parameters by name; `otherwise`, or -1, if none has this name and kind. word copies at most capacity bytes and
 * returns the length of the text in bytes. */
static inline int64_t perpend_call_integer(perpend_call *call, const char *name, int64_t otherwise) {
  int64_t value;
  return call->services->integer(call, name, &value) ? value : otherwise;
}
static inline double perpend_call_number(perpend_call *call, const char *name, double otherwise) {
  double value;
  return call->services->number(call, name, &value) ? value : otherwise;
}
static inline int64_t perpend_call_word(perpend_call *call, const char *name, char *text, int64_t capacity) {
  return call->services->word(call, name, text, capacity);
}

#ifdef __cplusplus
}
#endif
#endif
