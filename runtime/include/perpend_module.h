/* The interface between generated code and the runtime: the exports of one compiled model.
 * Users of a model include perpend.h instead.
 *
 * The object exports `const perpend_module *perpend_module_<name>(void)`; a shared object and an executable also have
 * that function under the name perpend_module_main. Link a shared object with the whole of libperpend_runtime.a,
 * without -Bsymbolic (-Bsymbolic-functions is fine): the data symbol perpend_pool_v4 must stay unique in the process.
 *
 * What the runtime reads of a model stands in its tables (perpend_tables.h). The descriptor is a text in them: one JSON
 * object for people and tools, which the runtime only hands out. Keys are in any order; all are there except those
 * marked optional:
 *   "perpend": "0.1.0"            version of the compiler
 *   "abi": 9                      equals perpend_module.abi
 *   "name": "resnet"              the model's name
 *   "target": "x86-64-v3"         optional
 *   "precision": "f32"            optional
 *   "isa": ["avx2", "fma"]        optional; instruction sets beyond the architecture's base, by LLVM feature name
 *   "process": 1234               optional; the weights are not in the object, but at an address of the process with
 *                                 this number (perpend_process.h), the only one that can load it
 *   "symbols": ["n", "count0"]    in the order of perpend_frame.symbols
 *   "dataSymbols": ["count0"]     optional; the last of the symbols: a run computes their values
 *   "requirements": ["node 'conv' needs n >= 5"]
 *                                 optional; conditions of bind on the inputs' extents
 *   "inputs": [{"name": "x", "type": "f32", "shape": ["n", 3, "2*n + 1"]}]
 *                                 a dimension is an integer >= 0 or the text of an expression.
 *                                 Types are perpend_type_name's: f32 f64 f16 bf16 i8..i64 u8..u64 bool i4 u4 i2 u2
 *                                 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu f6e2m3fn f6e3m2fn f4e2m1fn
 *                                 string sequence optional; the latter two have the key "element", an object with
 *                                 "type" and, when the rank is known, "shape" (in which "?" is any extent).
 *                                 Optional "map": the name of a map; this input holds its keys, the next its values.
 *                                 Optional "repeats": [0, 2], increasing: symbolic dimensions in which the input may
 *                                 have extent 1 if bind writes another value of the symbol; the runtime then repeats
 *                                 the input
 *   "outputs": [...]              likewise; "labels": the columns of a list of maps
 *   "states": [{"name": "k", "type": "f32", "shape": [4096, 64], "growing": 0}]
 *                                 optional; what a session keeps from run to run. The shape has the largest extents;
 *                                 "growing": the dimension whose extent is the length
 *   "kernels": ["k0_conv"]        by kernelIndex
 *   "checked": true               optional; an access outside of a tensor's memory ends the run with an error
 *   "variants": [{"target": "x86-64-v3", "isa": ["avx2"], "codeBytes": 100, "weightsBytes": 100}]
 *                                 optional; the variants of an object for several machines, in the order in
 *                                 which perpend_module_<name>() tries them. Each has a module of its own; "target" and
 *                                 "isa" above are this module's, "weightsBytes" is the size of their common section
 *   "weightsBytes": 1234          bytes of the section of weights, or of the range that files are mapped to
 *   "weightsChecksum": "e3069283" optional; CRC-32C of the weights, eight lower-case hexadecimal digits
 *   "weightsFiles": [{"file": "resnet.weights", "bytes": 1234}]
 *                                 optional; the files beside the object that have the weights, with their sizes
 *   "assets": [{"name": "llm.tokenizer", "bytes": 1234}]
 *                                 optional; bytes that perpend_model_asset returns
 *   "entries": [{"name": "decode", "symbols": [...], "inputs": [...], "outputs": [...]}]
 *                                 optional, if there are several; the keys above are those of the first
 */
#ifndef PERPEND_MODULE_H
#define PERPEND_MODULE_H
#include "perpend.h"
#include "perpend_tables.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERPEND_MODULE_MAGIC 0x444e505250455250ull
#define PERPEND_MODULE_ABI 10u

/* Of the arena and its buffers, of constants, and of all memory that the runtime hands out, in bytes. */
#define PERPEND_ALIGNMENT 64

/* In place of an extent that only a run decides. */
#define PERPEND_EXTENT_FROM_DATA INT64_MIN

/* One kernel, restricted to [begin, end) of its outermost parallel extent. buffers: inputs, outputs, then the values
 * (int64_t) of the kernel's own symbols, as run passes them: 8 bytes for each, also where an address has 4. symbols:
 * the frame's. */
typedef void (*perpend_kernel)(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end);

/* Memory of data-dependent size. Kept between runs. */
typedef struct perpend_buffer {
  void *data;
  int64_t capacityBytes;
} perpend_buffer;

/* Texts and lists of a session. In a run, an element of such a type is an int64_t: the identity of a text or the handle
 * of a list. 0 is the empty text or list. */
typedef struct perpend_handles perpend_handles;

/* Operations on texts and lists. Only libperpend_library.a implements them. Functions return a perpend_status. */
typedef struct perpend_handle_functions {
  /* fail sets the message of the caller's runtime, which is not that of the artifact, and returns the status.
   * Returns NULL if out of memory. */
  perpend_handles *(*create)(const perpend_module *module, int32_t (*fail)(int32_t status, const char *text));
  void (*destroy)(perpend_handles *handles);
  /* Starts a run: frees all but constant texts. keepsLatest: the previous run succeeded, so its outputs stay and those
   * of the run before it are overwritten; 0: it failed, and its results are overwritten. */
  void (*begin)(perpend_handles *handles, int32_t keepsLatest);
  /* Converts an input to handles in *data, valid until the next begin. given may be an output that begin kept. */
  int32_t (*take)(perpend_handles *handles, const perpend_tensor *given, const perpend_tensor_info *info,
                  const void **data);
  /* Converts the handles of an output, tensor->data, to perpend_string or perpend_sequence elements, and copies its
   * shape. Both stay valid as long as the outputs of a run. */
  int32_t (*give)(perpend_handles *handles, perpend_tensor *tensor);
  int32_t (*owns)(perpend_handles *handles, const void *data); /* whether give returned this data */
} perpend_handle_functions;

/* The states of a session (perpend_tables.h): values that runs read and update. */
typedef struct perpend_states perpend_states;

/* Operations on states. Only libperpend_state.a implements them. Functions that return int32_t return a
 * perpend_status. */
typedef struct perpend_state_functions {
  /* All states of a model with their first values, which are in the weights (perpend_frame.weights); fail: as in
   * perpend_handle_functions. NULL if out of memory. */
  perpend_states *(*create)(const perpend_module *module, const uint8_t *weights,
                            int32_t (*fail)(int32_t status, const char *text));
  void (*destroy)(perpend_states *states);
  /* Writes the extents of each state of an entry; returns whether they had been the same. */
  int32_t (*bind)(const perpend_states *states, const perpend_entry_state_record *list, uint32_t count,
                  int64_t *const *dims);
  /* Before a run: writes where each state of the entry is, and where its next value goes. Errors: STATE_LOST. */
  int32_t (*begin)(perpend_states *states, const perpend_entry_state_record *list, uint32_t count, const void **inputs,
                   void **outputs);
  /* After it. succeeded: the next values, of these extents, become the states. */
  void (*end)(perpend_states *states, const perpend_entry_state_record *list, uint32_t count, int32_t succeeded,
              const int64_t *const *dims);
  /* What the functions perpend_session_… of these names do (perpend.h). */
  int32_t (*reset)(perpend_states *states);
  int32_t (*copy)(perpend_states *states, const perpend_states *from);
  int32_t (*truncate)(perpend_states *states, int64_t length);
  int32_t (*save)(const perpend_states *states, void *data, int64_t capacityBytes, int64_t *sizeBytes);
  int32_t (*load)(perpend_states *states, const void *data, int64_t sizeBytes);
  int32_t (*view)(perpend_states *states, int32_t index, perpend_tensor *tensor);
  /* Has the next runs use the caller's memory for a state, with a value of these extents and room for what the runs
   * append; data NULL: its own again, which has kept its value. Not for sessions that anybody else uses. */
  int32_t (*borrow)(perpend_states *states, int32_t index, void *data, const int64_t *dims);
} perpend_state_functions;

/* What libperpend_state.a needs of a session, whose layout only its runtime knows. */
typedef struct perpend_session_loan {
  perpend_model *model;
  int32_t threads;
  perpend_states *states; /* NULL for a model without */
  const perpend_state_functions *functions;
} perpend_session_loan;

/* Marks the session as in use until it is given back. Errors: BUSY. */
PERPEND_API perpend_status perpend_session_lend(perpend_session *session, perpend_session_loan *loan);
PERPEND_API void perpend_session_give_back(perpend_session *session);

/* The state of a run. Created by the runtime, read by generated code. */
typedef struct perpend_frame perpend_frame;
struct perpend_frame {
  const void *const *inputs; /* one pointer per model input, 64-byte aligned or not; then one per state of the entry */
  void *const *outputs;   /* one pointer per model output; NULL where sizes said PERPEND_EXTENT_FROM_DATA; then one for
                           * the next value of each state, the same as in inputs where that is updated in place */
  const uint8_t *weights; /* start of the module's constant section, or of the range of its mapped files */
  uint8_t *arena;         /* 64-byte aligned */
  const int64_t *offsets; /* byte offset in the arena of each planned buffer */
  int64_t *symbols;       /* value of each symbol, in the descriptor's order; run writes those of "dataSymbols".
                           * After them: the maximal number of threads of a kernel, at least 1 */
  /* Every kernel, serial ones too, runs through this function, which also profiles. Runs kernel over [0, extent), split
   * into parts if threads are available: of at least grain units at first, then of a size that measurements determine.
   * grain < 0: the compiler did not know the extents; -grain is an estimate, so the first part is measured every time.
   * extent <= 0 runs nothing. kernelIndex -1: work of a library call; its parts never have fewer units than grain. */
  void (*parallel)(perpend_frame *frame, int32_t kernelIndex, perpend_kernel kernel, void *const *buffers,
                   int64_t extent, int64_t grain);
  /* One buffer for each output, used if its extents depend on data, then those of growingCount intermediate values.
   * run may exchange entries, but must restore their places at the end. */
  perpend_buffer *growing;
  /* Grows the buffer to `bytes` bytes (64-byte aligned, not NULL for 0) and preserves the first `keptBytes`.
   * Returns PERPEND_OK, or another perpend_status with the message set; run then returns it. */
  int32_t (*reserve)(perpend_buffer *buffer, int64_t bytes, int64_t keptBytes);
  /* Sets the message of an error in the data: text, then the number. A hint follows a newline in text. Returns the
   * status for run to return. */
  int32_t (*refuse)(const char *text, int64_t got);
  int64_t *outputDims;      /* as written by sizes; run writes all extents of outputs with data-dependent ones */
  perpend_handles *handles; /* texts and lists; NULL without perpend_module.handles */
};

/* Why bind refused: the dimension of an input, and its expected extent (k >= 0: exactly k; -k: at least k;
 * INT64_MIN + k: at most k). input -1: the extents violate a requirement of an operator; `requirement` is the whole
 * message, in which "{}" stands for `got`, "{2}" for the value of symbol 2 and "{{" for a brace. The runtime checks
 * static dimensions before it calls bind. */
typedef struct perpend_bind_error {
  int32_t input, dim;
  int64_t expected, got;
  const char *requirement; /* NULL unless input is -1 */
} perpend_bind_error;

/* The functions of an entry: see perpend_module. */
typedef struct perpend_entry_functions {
  int32_t (*bind)(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *error);
  void (*sizes)(const int64_t *symbols, int64_t *bufferBytes, int64_t *outputDims);
  int32_t (*run)(perpend_frame *frame);
} perpend_entry_functions;

/* The mapped files of a model. */
typedef struct perpend_segments perpend_segments;

/* Maps segments that lie in files. Only libperpend_segments.a implements them; a loader brings its own. Functions
 * return a perpend_status. */
typedef struct perpend_segment_functions {
  /* path: the artifact's file, or NULL: the one that `module` is mapped from; folder: where to look first, or NULL.
   * fail: as of perpend_handle_functions.create. Writes what the other functions take, and the address of position 0.
   */
  int32_t (*map)(const perpend_module *module, const perpend_tables *tables, const char *path, const char *folder,
                 int32_t (*fail)(int32_t status, const char *text), perpend_segments **segments,
                 const uint8_t **weights);
  /* Before and after a run, which reads the weights in between: whether the files are, and have been, as mapped. */
  int32_t (*begin)(perpend_segments *segments);
  int32_t (*end)(perpend_segments *segments);
  int32_t (*verify)(perpend_segments *segments); /* compares all bytes with their checksums */
  void (*unmap)(perpend_segments *segments);
} perpend_segment_functions;
extern const perpend_segment_functions perpend_segment_functions_v1; /* of libperpend_segments.a */

struct perpend_module {
  uint64_t magic;
  uint32_t abi;
  uint32_t tablesBytes;
  const perpend_tables *tables;
  const uint8_t *weights; /* the section of weights; NULL if it has no bytes, or segments lie in files */
  uint64_t weightsBytes;  /* of the section, or of the range that files are mapped to */
  /* The functions of the first entry. dims[i] points at the extents of the caller's input i, then of the entry's
   * states. Writes the symbols of inputs. Returns 0, or 1 with *error filled. */
  int32_t (*bind)(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *error);
  /* symbols: as in the frame. Writes the byte size of every planned buffer and, one output after another, the extents
   * of all outputs, then of all next values of states; an extent that depends on a symbol of "dataSymbols" is
   * PERPEND_EXTENT_FROM_DATA. bufferBytes is never NULL, even if the tables have the offsets. Must not fail; a negative
   * size means overflow. */
  void (*sizes)(const int64_t *symbols, int64_t *bufferBytes, int64_t *outputDims);
  /* Returns a perpend_status: PERPEND_OK, or what reserve, refuse or a library call returned. */
  int32_t (*run)(perpend_frame *frame);
  const perpend_handle_functions *handles;   /* NULL for models without texts, lists and library calls */
  const perpend_segment_functions *segments; /* NULL unless segments lie in files */
  const perpend_state_functions *states;     /* NULL for models without states */
  const perpend_entry_functions *others;     /* of the entries behind the first; NULL if there is only one */
};

#ifdef __cplusplus
}
#endif
#endif
