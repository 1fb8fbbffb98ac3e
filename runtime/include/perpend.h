/* Perpend: run a compiled model from C or C++ (C99 and later, C++11 and later).
 *
 * A compiled model is one shared object (or an archive) that contains this runtime; nothing else is needed at run time.
 *   1. perpend_model_load or perpend_model_from_module   what was compiled; read-only, shared by threads
 *   2. perpend_session_create                            memory and thread limit of one stream of runs
 *   3. perpend_session_run                               inputs -> outputs
 * Functions that can fail return a perpend_status; perpend_error_message() then describes the error. The others require
 * a model that is not NULL.
 * Threads: a model may be used from any number of threads; a session from one thread at a time. */
#ifndef PERPEND_H
#define PERPEND_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERPEND_API __attribute__((visibility("default")))
#define PERPEND_VERSION "0.1.0"

typedef enum perpend_status {
  PERPEND_OK = 0,
  PERPEND_INVALID_ARGUMENT = 1, /* a NULL pointer, a wrong count, rank or name, overlapping buffers */
  PERPEND_TYPE_MISMATCH = 2,    /* an element type is not the model's */
  PERPEND_SHAPE_MISMATCH = 3,   /* a dimension is not what the model expects */
  PERPEND_NOT_FOUND = 4,        /* no such file */
  PERPEND_NOT_A_MODEL = 5,      /* not an ELF shared object, or one that exports no model */
  PERPEND_INCOMPATIBLE = 6,     /* another magic or ABI version, or another machine architecture */
  PERPEND_UNSUPPORTED_CPU = 7,  /* the model uses instructions that this processor lacks */
  PERPEND_CORRUPT = 8,          /* truncated file, unreadable descriptor or wrong checksum */
  PERPEND_OUT_OF_MEMORY = 9,    /* an allocation failed, or a size overflows 64 bits */
  PERPEND_BUSY = 10,            /* another thread is using the session */
  PERPEND_INVALID_DATA = 11,    /* the values of the inputs are invalid, such as a negative size */
  PERPEND_SHAPE_UNKNOWN = 12,   /* the shape depends on the values of the inputs: only a run computes it */
  PERPEND_STATE_LOST = 13 /* a state has no value, or not the rows that are asked for: reset the session, or load one */
} perpend_status;

/* Element types. Every type takes whole bytes in memory: bool and the types of less than 8 bits take one byte per
 * element. The upper bits are ignored in inputs (any bool but 0 is true) and 0 in results, also for i2 and i4.
 */
typedef enum perpend_type {
  PERPEND_F32 = 0,
  PERPEND_F64 = 1,
  PERPEND_F16 = 2,
  PERPEND_BF16 = 3,
  PERPEND_I8 = 4,
  PERPEND_I16 = 5,
  PERPEND_I32 = 6,
  PERPEND_I64 = 7,
  PERPEND_U8 = 8,
  PERPEND_U16 = 9,
  PERPEND_U32 = 10,
  PERPEND_U64 = 11,
  PERPEND_BOOL = 12,
  PERPEND_I4 = 13,
  PERPEND_U4 = 14,
  PERPEND_I2 = 15,
  PERPEND_U2 = 16,
  PERPEND_F8E4M3FN = 17,
  PERPEND_F8E4M3FNUZ = 18,
  PERPEND_F8E5M2 = 19,
  PERPEND_F8E5M2FNUZ = 20,
  PERPEND_F8E8M0FNU = 21, /* powers of two */
  PERPEND_F6E2M3FN = 22,
  PERPEND_F6E3M2FN = 23,
  PERPEND_F4E2M1FN = 24,
  PERPEND_STRING = 25,   /* an element is a perpend_string */
  PERPEND_SEQUENCE = 26, /* rank 0; the element is a perpend_sequence */
  PERPEND_OPTIONAL = 27  /* the same, with at most one element */
} perpend_type;
#define PERPEND_TYPE_COUNT 28
#define PERPEND_MAX_RANK 32

/* A dense row-major array. shape has rank entries (it may be NULL for rank 0). The struct owns nothing. */
typedef struct perpend_tensor {
  void *data;
  const int64_t *shape;
  int32_t rank;
  perpend_type type;
} perpend_tensor;

/* Text in UTF-8, not NUL-terminated; data may be NULL when there are no bytes. */
typedef struct perpend_string {
  const char *data;
  int64_t sizeBytes;
} perpend_string;

/* A list of arrays whose shapes may differ, or an optional value (no element or one). */
typedef struct perpend_sequence {
  const perpend_tensor *elements;
  int64_t count;
} perpend_sequence;

/* The declaration of one input or output. Ownership: the model's; valid until it is freed. */
typedef struct perpend_tensor_info {
  const char *name;
  perpend_type type;
  int32_t rank;
  const int64_t *dims;         /* rank entries; -1 where the extent is symbolic */
  const char *const *dimTexts; /* rank entries: "3", or the expression such as "n" or "2*n + 1" */
  /* The elements of a sequence or optional value (name NULL; rank -1: any). NULL if the model does not declare them. */
  const struct perpend_tensor_info *element;
} perpend_tensor_info;

typedef struct perpend_module perpend_module; /* see perpend_module.h; generated headers declare one per model */
typedef struct perpend_model perpend_model;
typedef struct perpend_session perpend_session;

typedef struct perpend_session_options {
  int32_t threads; /* at most this many, the caller included; 0: all cores the process may use (affinity, cgroup) */
} perpend_session_options;

/* Version of the runtime, "major.minor.patch". */
PERPEND_API const char *perpend_version(void);

/* The calling thread's latest error: what, expected, got, hint. Ownership: the runtime's; valid until the thread's next
 * failing call. Empty if nothing has failed yet. */
PERPEND_API const char *perpend_error_message(void);

/* "f32", "bf16", "i4" …; "?" for a value outside the enum. */
PERPEND_API const char *perpend_type_name(perpend_type type);

/* Bytes of one element in memory; 0 for a value outside the enum. */
PERPEND_API int64_t perpend_type_size_bytes(perpend_type type);

/* Loads a compiled model (.so). Errors: NOT_FOUND, NOT_A_MODEL, INCOMPATIBLE, UNSUPPORTED_CPU, CORRUPT, OUT_OF_MEMORY.
 * The file is compared with its checksum here; the weights are, with their own, when they have at most 64 MiB (see
 * perpend_model_verify). A file of at most 4 MiB is copied, and may change afterwards. A larger one is mapped, and
 * looked at before each run: when it has been cut short or has got other contents, the run is an error (CORRUPT). A
 * change in the middle of a run is not seen, so replace the file of a model that runs by renaming a new one. Ownership:
 * the caller frees *model. Not in an archive-only program: link libperpend or load the .so yourself. */
PERPEND_API perpend_status perpend_model_load(const char *path, perpend_model **model);

/* The same for a model whose weights lie in files of their own (`perpend compile --weights`): `folder` is where they
 * are looked for first, or NULL. Otherwise they are looked for beside the model, by the name they were compiled to and
 * by that of the model's file ("m.weights" for "m.so"), and in the folders of the environment variable PERPEND_WEIGHTS
 * (several with ':' in between). They are mapped. Their size and a header are compared here, and their contents as
 * those of other weights. Files are looked at before each run: one that has been cut short is an error (CORRUPT), one
 * that was written again is compared with its checksum. One that is cut short in the middle of a run makes that run an
 * error, too; for that, a run has a handler of SIGBUS installed, which gives all signals that are not about these files
 * to the one that was there. Errors: those of perpend_model_load; NOT_FOUND names the places. */
PERPEND_API perpend_status perpend_model_load_with_weights(const char *path, const char *folder, perpend_model **model);

/* Loads a model that is linked into the program. Ownership: the module must outlive *model. */
PERPEND_API perpend_status perpend_model_from_module(const perpend_module *module, perpend_model **model);

/* The same, with a folder in which files of weights are looked for first. They lie beside the program or library that
 * the module is in, otherwise. */
PERPEND_API perpend_status perpend_model_from_module_with_weights(const perpend_module *module, const char *folder,
                                                                  perpend_model **model);

/* What callers can run of a model that was compiled with several entries ("prefill" and "decode", say). The first is
 * what a model stands for otherwise. NULL for an index out of range. */
PERPEND_API int32_t perpend_model_entry_count(const perpend_model *model);
PERPEND_API const char *perpend_model_entry_name(const perpend_model *model, int32_t index);

/* A handle that stands for the entry of that name: its inputs and outputs are the entry's, and its sessions run it. It
 * shares code and weights with the model. Ownership: the caller frees *entry, before or after the model. Errors:
 * INVALID_ARGUMENT (the message lists the names), OUT_OF_MEMORY. */
PERPEND_API perpend_status perpend_model_entry(perpend_model *model, const char *name, perpend_model **entry);

/* Releases the caller's reference to the model; existing sessions keep it alive. NULL is ignored. */
PERPEND_API void perpend_model_free(perpend_model *model);

/* Compares the weights with the descriptor's CRC-32C, whatever their size, and of an object that Perpend has linked
 * with the runtime inside, its code and constants: not of model.a and your own linker. Errors: CORRUPT. */
PERPEND_API perpend_status perpend_model_verify(const perpend_model *model);

/* Name given at compilation; the whole descriptor as JSON text. Ownership: the model's. */
PERPEND_API const char *perpend_model_name(const perpend_model *model);
PERPEND_API const char *perpend_model_descriptor(const perpend_model *model);

/* Inputs and outputs, in the order in which perpend_session_run takes them. NULL for an index out of range. */
PERPEND_API int32_t perpend_model_input_count(const perpend_model *model);
PERPEND_API int32_t perpend_model_output_count(const perpend_model *model);
PERPEND_API const perpend_tensor_info *perpend_model_input(const perpend_model *model, int32_t index);
PERPEND_API const perpend_tensor_info *perpend_model_output(const perpend_model *model, int32_t index);

/* Position of the input or output of that name. Errors: INVALID_ARGUMENT (the message lists the names). */
PERPEND_API perpend_status perpend_model_find_input(const perpend_model *model, const char *name, int32_t *index);
PERPEND_API perpend_status perpend_model_find_output(const perpend_model *model, const char *name, int32_t *index);

/* Kernels, for profiles. NULL for an index out of range. */
PERPEND_API int32_t perpend_model_kernel_count(const perpend_model *model);
PERPEND_API const char *perpend_model_kernel_name(const perpend_model *model, int32_t index);

/* Bytes of that name which the artifact carries for programs that use it, such as a tokenizer, at an address that is a
 * multiple of 8; NULL if there are none. *sizeBytes, unless NULL, is how many. They are compared with a checksum as
 * code is. Ownership: the model's. */
PERPEND_API const void *perpend_model_asset(const perpend_model *model, const char *name, int64_t *sizeBytes);

/* Creates a session; options may be NULL for defaults. Threads: any number of sessions may run at once; all share one
 * thread pool per process. Ownership: the caller frees *session. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, CORRUPT. */
PERPEND_API perpend_status perpend_session_create(perpend_model *model, const perpend_session_options *options,
                                                  perpend_session **session);

/* Creates a session of an entry of the model that `other` is a session of. Both use one arena, and as many threads. Of
 * sessions that share, one runs at a time (BUSY). Outputs in a session's memory stay valid until that session runs
 * again, so they may be inputs of the other. Memory of `other` is kept until all that share with it are freed.
 * Ownership: the caller frees *session. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, CORRUPT. */
PERPEND_API perpend_status perpend_session_create_shared(perpend_model *entry, perpend_session *other,
                                                         perpend_session **session);

/* Frees the session and all memory that it returned. NULL is ignored. */
PERPEND_API void perpend_session_free(perpend_session *session);

/* Extents of one output for inputs of these shapes; the inputs' data may be NULL. shape must have room for the rank of
 * the output. Errors: as perpend_session_run; SHAPE_UNKNOWN for an output with an extent that depends on the values of
 * the inputs (the number of elements that a filter keeps, say): leave its data NULL and read its shape after the run.
 */
PERPEND_API perpend_status perpend_session_output_shape(perpend_session *session, const perpend_tensor *inputs,
                                                        int32_t inputCount, int32_t outputIndex, int64_t *shape);

/* outputs = model(inputs). An output with data == NULL is filled in by the session (data, shape, rank, type): its
 * memory belongs to the session and is valid until the next call with that session. Texts and lists, with their shapes,
 * are valid through the next run that succeeds, and through all that fail before it: they may be inputs of these. A
 * tensor that the session filled in may be an output again, as it is. An output with data of the caller is written
 * there; its type, rank and shape must be the model's. Inputs and outputs must not overlap. A run with sizes seen
 * before, those that data decides included, allocates and frees nothing outside of library calls; a session keeps the
 * memory of its largest run (of texts and lists up to eight times what one run makes), so free it where that matters.
 * Errors: INVALID_ARGUMENT, TYPE_MISMATCH, SHAPE_MISMATCH, OUT_OF_MEMORY, BUSY, CORRUPT; nothing was run then.
 * Where extents depend on the values of the inputs, the shape of an output of the caller is compared after the run, and
 * SHAPE_MISMATCH, OUT_OF_MEMORY and INVALID_DATA can end a run that had begun. After an error, an output of the caller
 * keeps its data pointer, to undefined elements if the run had begun; data of one of the session is NULL, or as before
 * if nothing was touched: pass either to the next run as it is. */
PERPEND_API perpend_status perpend_session_run(perpend_session *session, const perpend_tensor *inputs,
                                               int32_t inputCount, perpend_tensor *outputs, int32_t outputCount);

/* States: values that a session keeps and its runs update. They are no inputs and no outputs. A run that fails leaves
 * all states as they were, or, if it had begun to overwrite one in its memory, makes the next run fail (STATE_LOST)
 * until the session is reset or loaded. A growing state has a length, the extent of one dimension, of which it has so
 * many elements; its memory is address space until a run writes it. The functions below are part of a model that has
 * states and of libperpend; a model without states has them not. Errors of all: BUSY, INVALID_ARGUMENT. */

/* The declaration of one state; its dims are the largest extents. NULL for an index out of range. */
PERPEND_API int32_t perpend_model_state_count(const perpend_model *model);
PERPEND_API const perpend_tensor_info *perpend_model_state(const perpend_model *model, int32_t index);

/* A state as it is now, for reading: its extents, too. Rows that are not kept have no meaning. Ownership: the
 * session's; valid until the session is used. */
PERPEND_API perpend_status perpend_session_state(perpend_session *session, int32_t index, perpend_tensor *tensor);

/* Gives every state its first value again. */
PERPEND_API perpend_status perpend_session_reset(perpend_session *session);

/* Shortens every growing state to `length`. Of a state of which runs read the latest rows only, a session keeps those
 * and some more. Errors: INVALID_ARGUMENT if one is shorter, or none grows; STATE_LOST if it would need rows that are
 * not kept: the states stay as they are, and perpend_session_reset begins anew. */
PERPEND_API perpend_status perpend_session_truncate(perpend_session *session, int64_t length);

/* A new session on the same model with a copy of the states. Ownership: the caller frees *copy. Errors: as
 * perpend_session_create. */
PERPEND_API perpend_status perpend_session_fork(perpend_session *session, perpend_session **copy);

/* Writes the states to `data`, which has capacityBytes; *sizeBytes is how many are needed (data may be NULL to ask).
 * Errors: INVALID_ARGUMENT if there are too few, STATE_LOST. */
PERPEND_API perpend_status perpend_session_save(perpend_session *session, void *data, int64_t capacityBytes,
                                                int64_t *sizeBytes);

/* Reads what perpend_session_save wrote, of this model or one with the same states; where one grows, its capacity may
 * be another. Errors: CORRUPT, INCOMPATIBLE (another version), SHAPE_MISMATCH, TYPE_MISMATCH; the states are as before.
 */
PERPEND_API perpend_status perpend_session_load(perpend_session *session, const void *data, int64_t sizeBytes);

/* Starts (enable != 0: from zero) or stops measuring every kernel. */
PERPEND_API perpend_status perpend_session_profile(perpend_session *session, int32_t enable);

/* Accumulated wall time in ns and number of calls of one kernel since profiling was started. */
PERPEND_API perpend_status perpend_session_kernel_profile(const perpend_session *session, int32_t kernelIndex,
                                                          int64_t *timeNs, int64_t *calls);

#ifdef __cplusplus
}
#endif
#endif
