//===- Boundary.cpp - converts inputs and results -------------------------===//

#include "interp/Boundary.h"
#include "graph/Attributes.h"

#include "graph/ElementTypes.h"
#include "graph/Graph.h"
#include "library/Handles.h"
#include "runtime/Types.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

std::optional<perpend_type> interfaceType(Type elementType) {
  perpend_type type;
  return runtime::findType(nameOf(elementType).c_str(), type) ? std::optional(type) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

Boundary::Boundary(func::FuncOp main) : main(main), lists(std::make_shared<library::ListTable>()) {
  for (auto [index, type] : llvm::enumerate(main.getArgumentTypes()))
    declare(type, main.getArgAttrOfType<StringAttr>(index, graph::nameAttribute));
}

Boundary::Boundary(host::EntryOp entry) : main(entry), lists(std::make_shared<library::ListTable>()) {
  for (unsigned i = 0; i < entry.inputCount(); ++i)
    declare(entry.tensorOf(i), entry.getArgAttrOfType<StringAttr>(i, graph::nameAttribute));
}

void Boundary::declare(Type type, StringAttr name) {
  types.push_back(type);
  infos.push_back(describe(type));
  infos.back().name = name ? name.data() : "input";
}

perpend_tensor_info Boundary::describe(Type type) {
  Type elementType = getElementTypeOrSelf(type);
  perpend_tensor_info info = {nullptr, interfaceType(elementType).value_or(PERPEND_F32), -1, nullptr, nullptr, nullptr};
  auto list = dyn_cast<SequenceType>(elementType);
  if (list && isa<RankedTensorType>(list.getElement()))
    info.element = new (memory) perpend_tensor_info(describe(list.getElement()));
  return info;
}

InFlightDiagnostic Boundary::fail() {
  return main->emitError("input ") << current << " of '" << SymbolTable::getSymbolName(main).getValue() << "': ";
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

LogicalResult Boundary::checkElement(const perpend_tensor &element, Type declared) {
  auto type = dyn_cast<RankedTensorType>(declared);
  if (!type)
    return success();
  if (interfaceType(type.getElementType()) != element.type)
    return fail() << "expected lists with elements of type " << type.getElementType() << ", got "
                  << perpend_type_name(element.type);
  ArrayRef<int64_t> extents(element.shape, element.rank);
  bool fits = type.getRank() == element.rank && llvm::all_of(llvm::zip(type.getShape(), extents), [](auto pair) {
                auto [expected, got] = pair;
                return ShapedType::isDynamic(expected) || expected == got;
              });
  if (!fits)
    return fail() << "expected lists with elements of type " << type << ", got the shape [" << extents << "]";
  return success();
}

FailureOr<int64_t> Boundary::takeList(const perpend_sequence &given, Type declared) {
  int64_t list = 0;
  for (const perpend_tensor &element : ArrayRef(given.elements, given.count)) {
    if (failed(checkElement(element, declared)))
      return failure();
    perpend_tensor inner = element;
    FailureOr<Tensor> words;
    if (runtime::isHandle(element.type)) {
      words = takeTensor(element, getElementTypeOrSelf(declared));
      if (failed(words))
        return failure();
      inner.data = words->mutableData();
    }
    list = lists->insert(list, lists->countOf(list), inner);
    if (list < 0)
      return fail() << "no memory for lists";
  }
  return list;
}

/// Converts strings and lists to words of 64 bits.
FailureOr<Tensor> Boundary::takeTensor(const perpend_tensor &given, Type elementType) {
  std::optional<Tensor> words = Tensor::allocate(elementType, ArrayRef(given.shape, given.rank));
  if (!words)
    return fail() << "no memory for " << elementType;
  auto sequence = dyn_cast<SequenceType>(elementType);
  auto &dialect = *main->getContext()->getLoadedDialect<GraphDialect>();
  for (auto [index, word] : llvm::enumerate(words->mutableElements<int64_t>())) {
    if (given.type == PERPEND_STRING) {
      const perpend_string &text = static_cast<const perpend_string *>(given.data)[index];
      word = dialect.identityOf(StringRef(text.data, text.sizeBytes));
      continue;
    }
    FailureOr<int64_t> list =
        takeList(static_cast<const perpend_sequence *>(given.data)[index], sequence ? sequence.getElement() : Type());
    if (failed(list))
      return failure();
    word = *list;
  }
  return *words;
}

FailureOr<Tensor> Boundary::take(unsigned input, const perpend_tensor &given) {
  current = input;
  Type declared = getElementTypeOrSelf(types[input]);
  if (!runtime::isHandle(given.type)) {
    auto *bytes = static_cast<std::byte *>(given.data);
    return Tensor{elementTypeNamed(main->getContext(), perpend_type_name(given.type)),
                  SmallVector<int64_t>(ArrayRef(given.shape, given.rank)),
                  std::shared_ptr<std::byte>(bytes, [](std::byte *) {})};
  }
  if (interfaceType(declared) != given.type)
    return fail() << "expected elements of type " << declared << ", got " << perpend_type_name(given.type);
  return takeTensor(given, declared);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void *Boundary::giveData(const perpend_tensor &inner) {
  if (!runtime::isHandle(inner.type))
    return inner.data;
  int64_t count = *countElements(ArrayRef(inner.shape, inner.rank));
  ArrayRef<int64_t> words(static_cast<const int64_t *>(inner.data), count);
  if (inner.type == PERPEND_STRING) {
    auto &dialect = *main->getContext()->getLoadedDialect<GraphDialect>();
    auto *texts = memory.Allocate<perpend_string>(count);
    for (auto [index, word] : llvm::enumerate(words)) {
      StringRef text = dialect.textOf(word);
      texts[index] = {text.data(), static_cast<int64_t>(text.size())};
    }
    return texts;
  }
  auto *sequences = memory.Allocate<perpend_sequence>(count);
  for (auto [index, word] : llvm::enumerate(words)) {
    int64_t length = lists->countOf(word);
    auto *elements = memory.Allocate<perpend_tensor>(length);
    for (int64_t i = 0; i < length; ++i) {
      elements[i] = *lists->elementOf(word, i);
      elements[i].data = giveData(elements[i]);
    }
    sequences[index] = {elements, length};
  }
  return sequences;
}

perpend_tensor Boundary::give(const Tensor &tensor) {
  perpend_tensor result = {const_cast<std::byte *>(tensor.data()), tensor.shape.data(),
                           static_cast<int32_t>(tensor.shape.size()),
                           interfaceType(tensor.elementType).value_or(PERPEND_F32)};
  result.data = giveData(result);
  return result;
}
} // namespace perpend::interp
