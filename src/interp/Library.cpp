//===- Library.cpp - library calls in the interpreter ---------------------===//
//
// Calls the same functions as artifacts; the interpreter provides the services
// of perpend_operator.h. Identities of strings belong to the context, lists to
// the run.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "interp/Boundary.h"
#include "interp/Environment.h"
#include "interp/Interpreter.h"

#include "library/ListTable.h"
#include "library/Parameters.h"
#include "perpend_operator.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <cstdio>
#include <cstring>
#include <mutex>

using namespace mlir;
using namespace perpend::graph;

extern "C" {
#define LIBRARY_FUNCTION(LIBRARY, NAME) perpend_status perpend_##LIBRARY##_##NAME(perpend_call *call);
#include "library/Functions.def"
}

namespace perpend::interp {

static std::mutex &addedMutex() {
  static std::mutex mutex;
  return mutex;
}

/// Functions supplied by users, by their modules' list of object files, which is unique per context.
static llvm::DenseMap<Attribute, llvm::StringMap<perpend_operator>> &addedFunctions() {
  static llvm::DenseMap<Attribute, llvm::StringMap<perpend_operator>> functions;
  return functions;
}

static perpend_operator runtimeFunction(StringRef name) {
  static const std::pair<StringRef, perpend_operator> functions[] = {
#define LIBRARY_FUNCTION(LIBRARY, NAME) {#LIBRARY "." #NAME, perpend_##LIBRARY##_##NAME},
#include "library/Functions.def"
  };
  for (auto [known, function] : functions)
    if (known == name)
      return function;
  return nullptr;
}

static perpend_operator findFunction(const LibraryCall &call) {
  if (perpend_operator function = runtimeFunction(call.function))
    return function;
  auto module = call.op->getParentOfType<ModuleOp>();
  Attribute objects = module ? module->getAttr(graph::objectsAttribute) : Attribute();
  std::lock_guard lock(addedMutex());
  auto found = addedFunctions().find(objects);
  return objects && found != addedFunctions().end() ? found->second.lookup(call.function) : nullptr;
}

bool isRuntimeFunction(StringRef name) { return runtimeFunction(name) != nullptr; }

void addFunction(Attribute objects, StringRef name, void *function) {
  std::lock_guard lock(addedMutex());
  addedFunctions()[objects][name] = reinterpret_cast<perpend_operator>(function);
}

//===----------------------------------------------------------------------===//
// Services
//===----------------------------------------------------------------------===//

namespace {
/// A call in progress; functions see its first member.
struct Call {
  perpend_call base;
  const LibraryCall &described;
  Operation *op;
  const Environment &environment;
  Tensors results, scratch;
  SmallVector<SmallVector<int64_t>> expectedShapes;
  std::string message;

  static Call &of(perpend_call *call) { return *reinterpret_cast<Call *>(call); }
  GraphDialect &texts() const { return *op->getContext()->getLoadedDialect<GraphDialect>(); }
  void *allocate(int32_t output, ArrayRef<int64_t> shape);
};
} // namespace

void *Call::allocate(int32_t output, ArrayRef<int64_t> shape) {
  auto refuse = [&](const Twine &text) -> void * {
    message = "result " + std::to_string(output) + ": " + text.str();
    return nullptr;
  };
  if (output < 0 || output >= base.outputCount)
    return refuse("the call has " + Twine(base.outputCount) + " results");
  if (results[output].bytes)
    return refuse("it is allocated twice");
  RankedTensorType type = described.results[output];
  if (type.getRank() != static_cast<int64_t>(shape.size()))
    return refuse("expected " + Twine(type.getRank()) + " dimensions, got " + Twine(shape.size()));
  FailureOr<Tensor> tensor = environment.allocate(op, type.getElementType(), shape);
  if (failed(tensor))
    return refuse("no memory");
  results[output] = *tensor;
  return results[output].mutableData();
}

static perpend_status failCall(perpend_call *call, const char *format, va_list arguments) {
  char text[512];
  vsnprintf(text, sizeof text, format, arguments);
  Call::of(call).message = text;
  return PERPEND_INVALID_DATA;
}

static void *allocateScratch(perpend_call *base, int64_t bytes) {
  Call &call = Call::of(base);
  FailureOr<Tensor> piece = call.environment.allocate(call.op, IntegerType::get(call.op->getContext(), 8), bytes);
  if (failed(piece))
    return nullptr;
  call.scratch.push_back(*piece);
  return call.scratch.back().mutableData();
}

static perpend_string textOf(perpend_call *call, int64_t identity) {
  StringRef text = Call::of(call).texts().textOf(identity);
  return {text.data(), static_cast<int64_t>(text.size())};
}

static const perpend_call_services services = {
    [](perpend_call *call, int32_t output, const int64_t *shape, int32_t rank) {
      return Call::of(call).allocate(output, ArrayRef(shape, rank));
    },
    failCall,
    textOf,
    [](perpend_call *call, const char *data, int64_t sizeBytes) {
      return Call::of(call).texts().identityOf(StringRef(data, sizeBytes));
    },
    [](perpend_call *call, int64_t list) { return Call::of(call).environment.lists->countOf(list); },
    [](perpend_call *call, int64_t list, int64_t position) {
      return Call::of(call).environment.lists->elementOf(list, position);
    },
    [](perpend_call *call, int64_t list, int64_t position, const perpend_tensor *element) {
      return Call::of(call).environment.lists->insert(list, position, *element);
    },
    [](perpend_call *call, int64_t list, int64_t position) {
      return Call::of(call).environment.lists->erase(list, position);
    },
    library::integerParameter,
    library::numberParameter,
    library::wordParameter,
    [](perpend_call *call, int32_t output) -> const int64_t * { return Call::of(call).expectedShapes[output].data(); },
    allocateScratch,
    [](perpend_call *, perpend_call_body body, void *context, int64_t extent, int64_t) {
      if (extent > 0)
        body(context, 0, extent);
    },
    [](perpend_call *call, const void *, int64_t, int64_t bytes, int32_t *isNew) {
      *isNew = 1;
      return allocateScratch(call, bytes);
    }};

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

LibraryCall::LibraryCall(CallLibraryOp op)
    : op(op), function(op.getFunction()), parameters(op.getParameters()), symbols(op.definedSymbols()) {
  for (Type type : op.getResultTypes())
    results.push_back(cast<RankedTensorType>(type));
}

LibraryCall::LibraryCall(host::CallOp op)
    : op(op), function(op.getFunction()), parameters(op.getParameters()),
      symbols(op.getDefines().getAsRange<StringAttr>()) {
  for (Type type : op.getTypes().getAsValueRange<TypeAttr>())
    results.push_back(cast<RankedTensorType>(type));
}

FailureOr<Tensors> callLibrary(const LibraryCall &described, ArrayRef<Tensor> operands,
                               const Environment &environment) {
  Operation *op = described.op;
  perpend_operator function = findFunction(described);
  if (!function)
    return op->emitError("no library has the function '") << described.function << "'";
  SmallVector<perpend_tensor> inputs;
  SmallVector<perpend_type> types;
  for (const Tensor &operand : operands) {
    std::optional<perpend_type> type = interfaceType(operand.elementType);
    if (!type)
      return op->emitError("elements of type ") << operand.elementType << " cannot be passed to a library function";
    inputs.push_back({const_cast<std::byte *>(operand.data()), operand.shape.data(),
                      static_cast<int32_t>(operand.shape.size()), *type});
  }
  SmallVector<SmallVector<int64_t>> expectedShapes;
  for (RankedTensorType tensor : described.results) {
    types.push_back(interfaceType(tensor.getElementType()).value_or(PERPEND_F32));
    expectedShapes.push_back(llvm::map_to_vector(shapeOf(tensor), [&](const SymbolicInt &extent) {
      bool isChosen = mentionsAny(extent, described.symbols);
      return isChosen ? -1 : extent.evaluate(environment.symbols).value_or(-1);
    }));
  }
  std::string parameters = parametersText(described.parameters);
  Call call{{&services, inputs.data(), types.data(), static_cast<int32_t>(inputs.size()),
             static_cast<int32_t>(types.size()), parameters.c_str()},
            described,
            op,
            environment,
            Tensors(types.size()),
            {},
            std::move(expectedShapes),
            ""};
  if (perpend_status status = function(&call.base))
    return op->emitError(call.message.empty() ? "the library function failed" : call.message)
           << " (" << described.function << ", " << status << ")";
  for (auto [index, result] : llvm::enumerate(call.results))
    if (!result.bytes)
      return op->emitError("the library function '") << described.function << "' did not allocate result " << index;
  return std::move(call.results);
}
} // namespace perpend::interp
