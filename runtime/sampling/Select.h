// Which tokens have the largest values, without sorting all of them.
#ifndef PERPEND_RUNTIME_SAMPLING_SELECT_H
#define PERPEND_RUNTIME_SAMPLING_SELECT_H
#include "Softmax.h"
#include "library/Array.h"

namespace perpend::sampling {

using library::Array;

template <typename T> bool resize(Array<T> &array, int64_t count) {
  if (!array.reserve(count))
    return false;
  array.shrink(count);
  return true;
}

// A set of values: all that are above `least`, and the first `ties` of those that are equal to it.
struct Cut {
  float least;
  int64_t ties;
};

// Calls keep(i) for each value of the set, in order.
template <typename Keep> void forEachIn(Cut cut, const float *values, int64_t count, const Keep &keep) {
  for (int64_t begin = 0; begin < count; begin += blockSize) {
    const int64_t end = count - begin < blockSize ? count : begin + blockSize;
    int32_t hasSome = 0; // mostly not, and vectors tell
    for (int64_t i = begin; i < end; ++i)
      hasSome |= values[i] >= cut.least;
    for (int64_t i = begin; hasSome && i < end; ++i)
      if (values[i] > cut.least || (values[i] == cut.least && cut.ties > 0)) {
        cut.ties -= values[i] == cut.least;
        keep(i);
      }
  }
}

// Values are not NaN. What is left of equal values are the first ones.
class Selector {
public:
  // Memory for calls with up to `count` values; false: there is none.
  bool reserve(int64_t count);

  // The `wanted` largest of the values; wanted >= 1.
  Cut largest(const float *values, int64_t count, int64_t wanted);

  // The largest values, as few as have weights that add up to `mass`, and at least one. Values are finite.
  Cut reaching(const float *values, const float *weights, int64_t count, double mass);

private:
  struct Item {
    float value, weight;
    int32_t position;
  };
  struct Values {
    const float *values, *weights;
    int64_t count;
  };
  bool narrow(Values &all, double &mass);

  Array<float> maxima, gathered, gatheredWeights;
  Array<Item> items;
};

} // namespace perpend::sampling
#endif
