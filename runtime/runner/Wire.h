// How a program and the runner of a model tell each other tensors: over a pipe or socket, in words of 64 bits. Both are
// little-endian.
#ifndef PERPEND_RUNTIME_RUNNER_WIRE_H
#define PERPEND_RUNTIME_RUNNER_WIRE_H
#include "perpend.h"
#include <cstddef>

namespace perpend::runtime {

// Requests: this word, the number of tensors, and they. Replies: a status; behind PERPEND_OK the number of tensors and
// they, otherwise a text. A reply comes before the first request, with no tensors.
enum Request : uint64_t {
  RequestRun = 1, // inputs -> outputs, then states
  // Inputs, then an f64 [1]: for how many ms -> an f64 [n], the times of n runs in ms. Only where they say something.
  RequestTimes = 3,
  RequestShapes = 2 // inputs without data -> outputs without data, with extents of 1 if only a run computes them
};

// All return false if the other side is gone, or memory is.
bool sendBytes(int file, const void *bytes, size_t count);
bool receiveBytes(int file, void *bytes, size_t count);
bool sendWord(int file, uint64_t word);
bool receiveWord(int file, uint64_t &word);
bool sendText(int file, const char *text, size_t count);
// Null: failed. Ownership: the caller's, who frees it; it ends with a NUL.
char *receiveText(int file, size_t &count);

// Texts and lists included. data may be NULL.
bool sendTensor(int file, const perpend_tensor &tensor);
// Ownership: the caller's, who frees it with freeTensor, also after a failure.
bool receiveTensor(int file, perpend_tensor &tensor);
void freeTensor(perpend_tensor &tensor);

} // namespace perpend::runtime
#endif
