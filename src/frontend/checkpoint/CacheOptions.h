//===- CacheOptions.h - the cache of a decoder ------------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_CACHEOPTIONS_H
#define PERPEND_FRONTEND_CHECKPOINT_CACHEOPTIONS_H

#include <cstdint>
#include <string>

namespace perpend::checkpoint {

/// What a session keeps of one text, or of several that it continues together.
struct CacheOptions {
  int64_t tokens = 0;       ///< the most of a text whose keys and values it keeps; 0: it keeps nothing
  std::string type = "f32"; ///< of keys and values in the cache: f32, f16, bf16 or int8
  int64_t texts = 1;        ///< how many there are, each with a length of its own
};

/// What a decoder with a cache gives for the further tokens of a text.
enum class Result {
  LastLogits, ///< [vocabulary], of the last one
  AllLogits,  ///< [n, vocabulary], of each; of one text only
  Hidden,     ///< [n, width], what the head takes of each, behind the last norm; of one text only
};
} // namespace perpend::checkpoint

#endif
