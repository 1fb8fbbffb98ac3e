// e^(2 pi i k / n): errors are below 0.8 units in the last place of a double, so floats are rounded correctly.
#ifndef PERPEND_RUNTIME_LIBRARY_ROOTSOFUNITY_H
#define PERPEND_RUNTIME_LIBRARY_ROOTSOFUNITY_H
#include <cstdint>

namespace perpend::library {

struct Root {
  double cosine, sine;
};

// 0 <= k <= n.
Root rootOfUnity(int64_t k, int64_t n);

// All n of them. T: float or double.
template <typename T> void fillRoots(int64_t n, T *cosines, T *sines);

} // namespace perpend::library
#endif
