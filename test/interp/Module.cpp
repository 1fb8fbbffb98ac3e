//===- Module.cpp - running MLIR text in tests ----------------------------===//

#include "Module.h"

#include "host/Host.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace perpend::interp {

static MLIRContext::Threading single() { return MLIRContext::Threading::DISABLED; }

Module::Module(const std::string &text) : context(single()) {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; });
  module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << messages << text;
}

func::FuncOp Module::main() { return module->lookupSymbol<func::FuncOp>("main"); }
Type Module::type(StringRef text) { return parseType(text, &context); }

std::vector<Tensor> Module::run(ArrayRef<Tensor> inputs, const InterpreterOptions &options) {
  if (!module)
    return {};
  auto entry = module->lookupSymbol<host::EntryOp>("main");
  FailureOr<SmallVector<Tensor>> results =
      entry ? interpret(entry, inputs, options) : interpret(main(), inputs, options);
  return succeeded(results) ? std::vector<Tensor>(results->begin(), results->end()) : std::vector<Tensor>();
}

std::string mainOf(ArrayRef<std::string> argumentTypes, const std::string &op, const std::string &resultType) {
  std::string arguments;
  for (size_t i = 0; i < argumentTypes.size(); ++i)
    arguments += (i ? ", %" : "%") + std::string(1, static_cast<char>('a' + i)) + ": " + argumentTypes[i];
  return "func.func @main(" + arguments + ") -> " + resultType + " {\n  %r = " + op + "\n  return %r : " + resultType +
         "\n}\n";
}

std::string tensorText(ArrayRef<int64_t> shape, const std::string &elementType) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + elementType + ">";
}

std::string arrayText(ArrayRef<int64_t> values) { return listText(values); }
} // namespace perpend::interp
