//===- ModuleTable.cpp - the table that a compiled model exports ------------===//

#include "target/cpu/ModuleTable.h"

#include "perpend_module.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <cstddef>

using namespace llvm;

namespace perpend::target {

static Constant *constantArray(Module &module, Type *elementType, ArrayRef<int64_t> values, const Twine &name) {
  if (values.empty())
    return ConstantPointerNull::get(PointerType::getUnqual(module.getContext()));
  SmallVector<Constant *> elements;
  for (int64_t value : values)
    elements.push_back(ConstantInt::getSigned(elementType, value));
  auto *type = ArrayType::get(elementType, elements.size());
  return new GlobalVariable(module, type, /*isConstant=*/true, GlobalValue::PrivateLinkage,
                            ConstantArray::get(type, elements), name);
}

static Constant *weightsAddress(Module &module, const ModuleTable &table) {
  if (table.weightsSymbol.empty())
    return ConstantPointerNull::get(PointerType::getUnqual(module.getContext()));
  auto *weights = new GlobalVariable(module, Type::getInt8Ty(module.getContext()), /*isConstant=*/true,
                                     GlobalValue::ExternalLinkage, nullptr, table.weightsSymbol);
  weights->setVisibility(GlobalValue::HiddenVisibility);
  return weights;
}

static Constant *handleFunctions(Module &module, const ModuleTable &table) {
  if (table.texts.empty())
    return ConstantPointerNull::get(PointerType::getUnqual(module.getContext()));
  auto *functions = new GlobalVariable(module, Type::getInt8Ty(module.getContext()), /*isConstant=*/true,
                                       GlobalValue::ExternalLinkage, nullptr, "perpend_handle_functions_v1");
  functions->setVisibility(GlobalValue::HiddenVisibility);
  return functions;
}

static_assert(offsetof(perpend_string, data) == 0 && sizeof(perpend_string) == 16);
static_assert(offsetof(perpend_buffer_lifetime, first) == 0 && offsetof(perpend_buffer_lifetime, last) == 4 &&
              sizeof(perpend_buffer_lifetime) == 8);

/// An array of perpend_string.
static Constant *textTable(Module &module, const ModuleTable &table) {
  LLVMContext &context = module.getContext();
  auto *pointer = PointerType::getUnqual(context);
  if (table.texts.empty())
    return ConstantPointerNull::get(pointer);
  auto *type = StructType::get(pointer, Type::getInt64Ty(context));
  std::vector<Constant *> entries;
  for (const std::string &text : table.texts) {
    auto *bytes = ConstantDataArray::getString(context, text, /*AddNull=*/true);
    auto *global = new GlobalVariable(module, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes, "text");
    entries.push_back(ConstantStruct::get(type, {global, ConstantInt::get(Type::getInt64Ty(context), text.size())}));
  }
  auto *array = ArrayType::get(type, entries.size());
  return new GlobalVariable(module, array, /*isConstant=*/true, GlobalValue::PrivateLinkage,
                            ConstantArray::get(array, entries), "texts");
}

namespace {
/// A field of perpend_module and where it lies there.
struct Field {
  size_t offset;
  Constant *value;
};
} // namespace

static std::vector<Field> fieldsOf(Module &module, const ModuleTable &table) {
  LLVMContext &context = module.getContext();
  Type *i64 = Type::getInt64Ty(context), *i32 = Type::getInt32Ty(context);
  auto word = [&](uint64_t value) { return ConstantInt::get(i64, value); };
  auto half = [&](uint32_t value) { return ConstantInt::get(i32, value); };
  auto *text = ConstantDataArray::getString(context, table.descriptor);
  auto *descriptor = new GlobalVariable(module, text->getType(), true, GlobalValue::PrivateLinkage, text, "descriptor");
  Constant *offsets = table.staticOffsets ? constantArray(module, i64, *table.staticOffsets, "offsets")
                                          : ConstantPointerNull::get(PointerType::getUnqual(context));
  // With static offsets but no buffer, any address says "static".
  if (table.staticOffsets && table.staticOffsets->empty())
    offsets = descriptor;
  uint32_t bufferCount = table.lifetimes.size() / 2;
  return {{offsetof(perpend_module, magic), word(PERPEND_MODULE_MAGIC)},
          {offsetof(perpend_module, abi), half(PERPEND_MODULE_ABI)},
          {offsetof(perpend_module, inputCount), half(table.inputCount)},
          {offsetof(perpend_module, outputCount), half(table.outputCount)},
          {offsetof(perpend_module, symbolCount), half(table.symbolCount)},
          {offsetof(perpend_module, bufferCount), half(bufferCount)},
          {offsetof(perpend_module, kernelCount), half(table.kernelCount)},
          {offsetof(perpend_module, growingCount), half(table.growingCount)},
          {offsetof(perpend_module, descriptor), descriptor},
          {offsetof(perpend_module, descriptorBytes), word(table.descriptor.size())},
          {offsetof(perpend_module, weights), weightsAddress(module, table)},
          {offsetof(perpend_module, weightsBytes), word(table.weightsBytes)},
          {offsetof(perpend_module, lifetimes), constantArray(module, i32, table.lifetimes, "lifetimes")},
          {offsetof(perpend_module, staticOffsets), offsets},
          {offsetof(perpend_module, staticArenaBytes), ConstantInt::getSigned(i64, table.staticArenaBytes)},
          {offsetof(perpend_module, bind), module.getFunction("perpend_bind")},
          {offsetof(perpend_module, sizes), module.getFunction("perpend_sizes")},
          {offsetof(perpend_module, run), module.getFunction("perpend_run")},
          {offsetof(perpend_module, handles), handleFunctions(module, table)},
          {offsetof(perpend_module, texts), textTable(module, table)},
          {offsetof(perpend_module, textCount), word(table.texts.size())}};
}

/// The fields as a struct of LLVM, which must have the layout of the C struct.
static Constant *tableOf(LLVMContext &context, ArrayRef<Field> fields) {
  std::vector<Constant *> values;
  size_t offset = 0;
  for (const Field &field : fields) {
    size_t bytes = field.value->getType()->isIntegerTy(32) ? 4 : 8;
    if (alignTo(offset, bytes) != field.offset)
      report_fatal_error("perpend bug: the module's table has not the layout of perpend_module");
    offset = field.offset + bytes;
    values.push_back(field.value);
  }
  if (offset != sizeof(perpend_module))
    report_fatal_error("perpend bug: the module's table has not all fields of perpend_module");
  return ConstantStruct::getAnon(context, values);
}

void addModuleTable(Module &module, const ModuleTable &table) {
  LLVMContext &context = module.getContext();
  for (const char *name : {"perpend_bind", "perpend_sizes", "perpend_run"})
    module.getFunction(name)->setLinkage(GlobalValue::InternalLinkage);
  Constant *content = tableOf(context, fieldsOf(module, table));
  auto *global = new GlobalVariable(module, content->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage,
                                    content, "perpend_module_table");
  auto *functionType = FunctionType::get(PointerType::getUnqual(context), false);
  std::vector<std::string> names = {"perpend_module_" + table.name};
  if (table.isMain)
    names.push_back("perpend_module_main");
  for (const std::string &name : names) {
    auto *function = Function::Create(functionType, GlobalValue::ExternalLinkage, name, module);
    IRBuilder<> builder(BasicBlock::Create(context, "", function));
    builder.CreateRet(global);
  }
}
} // namespace perpend::target
