// What sorting does with each element of a line, in wide registers.
#ifndef PERPEND_RUNTIME_LIBRARY_ORDERSCAN_H
#define PERPEND_RUNTIME_LIBRARY_ORDERSCAN_H
#include "include/perpend.h"
#include <cstdint>

namespace perpend::library {

// Lines that lie side by side: element i of line l is elements[i * step + l].
struct OrderLines {
  const void *elements;
  int64_t lines, count, step;
  bool isDescending;
};

// The code for this processor.
struct OrderScan {
  // The keys of all lines, one line after the other: of uint32_t, or of uint64_t for elements of 64 bits. Less is
  // before; NaN is the greatest element, and -0 is 0.
  void (*makeKeys)(perpend_type type, const OrderLines &lines, void *keys);
  // Whether a key is at most `bound`, as 0 or 1.
  void (*markNarrow)(const uint32_t *keys, int64_t count, uint32_t bound, uint8_t *marks);
  void (*markWide)(const uint64_t *keys, int64_t count, uint64_t bound, uint8_t *marks);
};

const OrderScan &chooseOrderScan();

// Whether keys of this type exist.
bool hasOrder(perpend_type type);

} // namespace perpend::library
#endif
