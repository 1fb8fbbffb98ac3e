// An llvm::Error that is the compiler's mistake, and no user's.
#ifndef PERPEND_SUPPORT_INTERNALERROR_H
#define PERPEND_SUPPORT_INTERNALERROR_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace perpend::support {

class InternalError : public llvm::ErrorInfo<InternalError> {
public:
  explicit InternalError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  static char ID;

private:
  std::string text;
};

/// "perpend bug: " and the text.
inline llvm::Error internalError(const llvm::Twine &text) {
  return llvm::make_error<InternalError>(("perpend bug: " + text).str());
}

} // namespace perpend::support

#endif
