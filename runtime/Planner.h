// Memory planner: places buffers with known lifetimes in one arena. The runtime uses it once symbols are known, the
// compiler for static shapes. Depends on the C library only.
#ifndef PERPEND_RUNTIME_PLANNER_H
#define PERPEND_RUNTIME_PLANNER_H
#include "Strategies.h"
#include "include/perpend_module.h"

namespace perpend::runtime {

// Those with an order place one buffer after the other into the smallest gap that it fits.
enum class Strategy : uint32_t {
#define PERPEND_ENUMERATOR(enumerator, name, order, help) enumerator,
  PERPEND_STRATEGIES(PERPEND_ENUMERATOR)
#undef PERPEND_ENUMERATOR
};
#define PERPEND_COUNT(enumerator, name, order, help) +1
constexpr uint32_t strategyCount = 0 PERPEND_STRATEGIES(PERPEND_COUNT);
#undef PERPEND_COUNT

// Writes an offset, a multiple of 64, for each buffer such that buffers alive at the same time do not overlap. Returns
// the bytes of the arena, or -1 (negative size, first > last, more than 2^62 bytes, no memory). Quadratic in count.
int64_t planOffsets(const int64_t *sizes, const perpend_buffer_lifetime *lifetimes, int32_t count, int64_t *offsets,
                    Strategy strategy = Strategy::Best);

// The most bytes alive at any time, with sizes rounded up to 64: a lower bound of every plan. -1 as above.
int64_t lowerBound(const int64_t *sizes, const perpend_buffer_lifetime *lifetimes, int32_t count);

} // namespace perpend::runtime
#endif
