#include "templates/Template.h"

#include "templates/Syntax.h"

#include "llvm/Support/ConvertUTF.h"

namespace perpend::templates {

std::optional<std::string> compileTemplate(llvm::StringRef text, std::string &error) {
  Problem problem;
  const auto *bytes = reinterpret_cast<const llvm::UTF8 *>(text.data());
  if (!llvm::isLegalUTF8String(&bytes, bytes + text.size()))
    problem.report(text.take_front(reinterpret_cast<const char *>(bytes) - text.data()).count('\n') + 1,
                   "the template is not UTF-8");
  std::string table;
  if (!problem.has()) {
    std::vector<Token> tokens = tokenize(text, problem);
    NodePtr root = problem.has() ? nullptr : parse(std::move(tokens), problem);
    if (root && !problem.has())
      table = encode(*root, problem);
  }
  if (!problem.has())
    return table;
  error = problem.text;
  return std::nullopt;
}

} // namespace perpend::templates
