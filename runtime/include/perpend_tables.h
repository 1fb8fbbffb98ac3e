/* The tables of a compiled model: everything that the runtime knows of it besides functions and weights. The compiler
 * writes them, and the runtime reads them when it opens the model. The descriptor (perpend_module.h) says the same to
 * people and tools.
 *
 * Tables are one piece of read-only memory, aligned to 8 bytes and without addresses. So they need no relocations, can
 * be read from the file of an artifact, and have the checksums of code and constants (runtime/Seal.h). In place of an
 * address there is a position: the distance in bytes from the start of the tables. The head lies at 0, so as the
 * position of anything else 0 means that there is none. A record's position is a multiple of its alignment. A text is
 * UTF-8, ends with a NUL, and may begin at any byte. The last byte of all is a NUL.
 *
 * A change of the layout raises PERPEND_MODULE_ABI. */
#ifndef PERPEND_TABLES_H
#define PERPEND_TABLES_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `count` records, one after the other. */
typedef struct perpend_records {
  uint32_t position, count;
} perpend_records;

/* An input, an output, or the elements of a sequence or optional value. */
typedef struct perpend_tensor_record {
  uint32_t name;     /* a text; 0 for elements */
  uint32_t type;     /* perpend_type */
  int32_t rank;      /* -1, for elements: any */
  uint32_t dims;     /* `rank` extents, int64_t: at least 0, or -1 where the extent is symbolic or, of elements, any */
  uint32_t dimTexts; /* `rank` texts: "3", or the expression such as "n" or "2*n + 1"; "?": any */
  uint32_t element;  /* a perpend_tensor_record, nested at most PERPEND_MAX_NESTING deep; 0 if it is not declared */
} perpend_tensor_record;
#define PERPEND_MAX_NESTING 16

/* A symbolic dimension in which an input may have extent 1 if bind writes another value of the symbol; the runtime then
 * repeats the input. */
typedef struct perpend_repeat_record {
  uint32_t input, dim, symbol;
} perpend_repeat_record;

/* A constant with one of the first identities of texts. It may contain NULs. */
typedef struct perpend_text_record {
  uint32_t position, bytes;
} perpend_text_record;

/* How a state begins, and which dimension grows. */
typedef struct perpend_state_record {
  uint64_t initialOffset; /* in the section of weights: the first value, if it has bytes */
  uint64_t initialBytes;  /* 0: zeros, and no elements in the dimension that grows */
  uint32_t growing;       /* its extent is the length of the state; it follows dims of 1 only; the rank: none grows */
  uint32_t keptRows;      /* runs read at most so many of the last rows, and no earlier one; 0: all */
} perpend_state_record;

/* A state that an entry reads and updates. */
typedef struct perpend_entry_state_record {
  uint32_t state;
  uint32_t update; /* perpend_update */
} perpend_entry_state_record;
typedef enum perpend_update {
  PERPEND_UPDATE_COMPUTED = 0, /* a run computes the next value in a second memory, which then becomes the state's */
  PERPEND_UPDATE_APPENDED = 1, /* a run writes behind the value in its memory */
  PERPEND_UPDATE_WRITTEN = 2   /* a run overwrites parts of the value */
} perpend_update;

typedef struct perpend_buffer_lifetime {
  int32_t first, last; /* the kernels of the first write and the last read, inclusive, in order of execution */
} perpend_buffer_lifetime;

/* What a caller runs: its interface and its plan of memory. */
typedef struct perpend_entry_record {
  uint32_t name;             /* a text */
  uint32_t growingCount;     /* intermediate values of data-dependent size */
  perpend_records symbols;   /* texts, in the order of perpend_frame.symbols */
  perpend_records inputs;    /* perpend_tensor_record, as is the next */
  perpend_records outputs;   /* */
  perpend_records states;    /* perpend_entry_state_record; they are further inputs and outputs of the functions, behind
                              * those of the caller */
  perpend_records repeats;   /* perpend_repeat_record, by input, then dimension */
  perpend_records lifetimes; /* perpend_buffer_lifetime, one for each planned buffer */
  perpend_records offsets;   /* int64_t, in the arena, one for each planned buffer; none if the runtime plans */
  int64_t arenaBytes;        /* -1 if the runtime plans, because sizes depend on symbols */
  uint32_t strategy, unused; /* how the runtime plans: a Strategy of runtime/Planner.h */
} perpend_entry_record;

/* Constant bytes, which code finds at a distance from perpend_frame.weights. Either all lie in the artifact's section
 * of weights (one record, position and file 0), or all in files, which the runtime maps (libperpend_segments.a):
 * records are in the order of their positions, share no page, and position and offset agree modulo
 * PERPEND_SEGMENT_PAGE. */
typedef struct perpend_segment_record {
  uint64_t bytes;
  uint64_t offset;      /* in the file, or in the section */
  uint64_t position;    /* from perpend_frame.weights */
  uint64_t fileBytes;   /* of the whole file */
  uint32_t file;        /* a text, the name of the file, or its path from the artifact's folder; 0: the artifact */
  uint32_t checksum;    /* CRC-32C */
  uint32_t hasChecksum; /* 0: `checksum` says nothing */
  uint32_t hasHeader;   /* 1: the file begins with a perpend_weights_header */
} perpend_segment_record;
#define PERPEND_SEGMENT_PAGE 4096

/* Bytes that an artifact carries for programs that use it, such as a tokenizer. */
typedef struct perpend_asset_record {
  uint32_t name;     /* a text */
  uint32_t position; /* of the bytes; a multiple of PERPEND_ASSET_ALIGNMENT */
  uint64_t bytes;
} perpend_asset_record;
#define PERPEND_ASSET_ALIGNMENT 8

/* How a file of packed weights begins. The weights follow at PERPEND_SEGMENT_PAGE. */
typedef struct perpend_weights_header {
  char magic[16];    /* PERPEND_WEIGHTS_MAGIC */
  uint64_t bytes;    /* of the weights */
  uint32_t checksum; /* CRC-32C of the weights */
  uint32_t unused;
} perpend_weights_header;
#define PERPEND_WEIGHTS_MAGIC "perpend weights\n" /* without its NUL */

/* The head. */
typedef struct perpend_tables {
  uint32_t name, target;    /* texts: the model's name, the machine that it was compiled for */
  uint32_t hint;            /* a text: the hint of the error if one of `isa` is missing; 0: the runtime's */
  uint32_t descriptor;      /* a text: JSON */
  perpend_records isa;      /* texts: instruction sets beyond the architecture's base, by LLVM feature name. Names that
                             * runtime/Isa.cpp does not list count as missing. */
  perpend_records kernels;  /* texts, by kernelIndex */
  perpend_records texts;    /* perpend_text_record; the first is the empty text, unless there are none */
  perpend_records segments; /* perpend_segment_record; this runtime knows one, all of the section of weights,
                             * or none if that has no bytes */
  perpend_records
      states; /* perpend_tensor_record: what a session keeps from run to run; the dims are the largest extents */
  perpend_records stateFacts; /* perpend_state_record, one for each; only libperpend_state.a reads them */
  perpend_records entries;    /* perpend_entry_record; this runtime knows one */
  perpend_records assets;     /* perpend_asset_record */
  uint64_t process; /* the process (perpend_process.h) whose memory has the weights; 0: the artifact has them */
} perpend_tables;

#ifdef __cplusplus
}
#endif
#endif
