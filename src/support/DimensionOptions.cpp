//===- DimensionOptions.cpp - what the user says of dimensions ------------===//

#include "support/DimensionOptions.h"
#include "support/DimensionNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace perpend::support {
using llvm::StringRef;

std::optional<SymbolicInt> DimensionOptions::apply(StringRef subject, std::string &error) {
  subjects.push_back(subject.str());
  std::optional<SymbolicInt> result;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i].subject != subject)
      continue;
    used[i] = true;
    StringRef value = options[i].value;
    int64_t number;
    if (!value.getAsInteger(10, number)) {
      if (number >= 0)
        result = SymbolicInt(number);
      else
        error = "a dimension cannot be " + value.str();
    } else if (identifierOf(value) == value) {
      result = SymbolicInt::symbol(value);
    } else if (llvm::all_of(value, llvm::isDigit)) {
      error = "a dimension cannot be " + value.str() + ": it is too large";
    } else {
      error = "'" + value.str() + "' is neither a number nor a name of letters, digits and '_'";
    }
  }
  return result;
}

std::string DimensionOptions::unused() const {
  std::vector<std::string> known;
  for (const std::string &subject : subjects) // inputs may share a symbol
    if (!llvm::is_contained(known, subject))
      known.push_back(subject);
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      return "no input has the dimension '" + options[i].subject + "'\nhint: there are " + llvm::join(known, ", ");
  return "";
}
} // namespace perpend::support
