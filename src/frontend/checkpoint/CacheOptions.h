//===- CacheOptions.h - the cache of a decoder ------------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_CACHEOPTIONS_H
#define PERPEND_FRONTEND_CHECKPOINT_CACHEOPTIONS_H

#include <cstdint>
#include <string>

namespace perpend::checkpoint {

/// What a session keeps of a sequence.
struct CacheOptions {
  int64_t tokens = 0;       ///< the most whose keys and values it keeps; 0: it keeps nothing
  std::string type = "f32"; ///< of keys and values in the cache: f32, f16 or bf16
};
} // namespace perpend::checkpoint

#endif
