//===- Errors.cpp - the builder's error messages --------------------------===//

#include "graph/builder/Builder.h"

using namespace mlir;

namespace perpend::graph {

Value Builder::fail(const Twine &message) {
  raise(completed(message), /*isContradiction=*/false);
  return {};
}

Value Builder::contradict(const Twine &message) {
  raise(completed(message), /*isContradiction=*/true);
  return {};
}

/// Errors after a guessed branch get no hint of their own: it would address the wrong rank.
std::string Builder::behindGuess(StringRef text) const {
  return (guess->text + text.take_front(text.find("\nhint: ")) + "\nhint: " + guess->hint).str();
}

void Builder::raise(const std::string &text, bool isContradiction) {
  if (std::exchange(failed, true))
    return;
  if (isContradiction && contradiction)
    *contradiction = text;
  else
    emitError(location) << (isContradiction && guess ? behindGuess(text) : text);
}

std::string Builder::completed(const Twine &message) const {
  std::string text = message.str();
  if (size_t end = std::min(text.find("\nhint: "), text.size()); !operands.empty())
    text.insert(end, "\n" + operands);
  return subject + text;
}

bool Builder::checkAxis(int64_t axis, int64_t rank, StringRef what) {
  if (axis >= 0 && axis < rank)
    return true;
  contradict(what + ": expected an axis from 0 to " + Twine(rank - 1) + ", got " + Twine(axis));
  return false;
}
} // namespace perpend::graph
