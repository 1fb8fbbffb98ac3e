#include "support/Nearest.h"

namespace perpend::support {

std::string nearest(llvm::StringRef word, llvm::ArrayRef<std::string> candidates) {
  std::string best;
  unsigned bestDistance = static_cast<unsigned>(word.size()) / 3 + 2; // a larger distance is no misspelling
  for (llvm::StringRef candidate : candidates)
    if (unsigned distance = word.edit_distance(candidate); distance < bestDistance) {
      bestDistance = distance;
      best = candidate.str();
    }
  return best;
}
} // namespace perpend::support
