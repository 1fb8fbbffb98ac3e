//===- ModuleTable.cpp - the table that a compiled model exports ------------===//

#include "target/cpu/ModuleTable.h"

#include "perpend_module.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

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

/// The fields in the order of the C struct.
static std::vector<Constant *> fieldsOf(Module &module, const ModuleTable &table) {
  LLVMContext &context = module.getContext();
  Type *i64 = Type::getInt64Ty(context), *i32 = Type::getInt32Ty(context);
  auto word = [&](uint64_t value) { return ConstantInt::get(i64, value); };
  auto half = [&](uint32_t value) { return ConstantInt::get(i32, value); };
  IRBuilder<> builder(context);
  auto *text = ConstantDataArray::getString(context, table.descriptor);
  auto *descriptor = new GlobalVariable(module, text->getType(), true, GlobalValue::PrivateLinkage, text, "descriptor");
  Constant *offsets = table.staticOffsets ? constantArray(module, i64, *table.staticOffsets, "offsets")
                                          : ConstantPointerNull::get(PointerType::getUnqual(context));
  // With static offsets but no buffer, any address says "static".
  if (table.staticOffsets && table.staticOffsets->empty())
    offsets = descriptor;
  uint32_t bufferCount = table.lifetimes.size() / 2;
  return {word(PERPEND_MODULE_MAGIC),
          half(PERPEND_MODULE_ABI),
          half(table.inputCount),
          half(table.outputCount),
          half(table.symbolCount),
          half(bufferCount),
          half(table.kernelCount),
          half(table.growingCount),
          descriptor,
          word(table.descriptor.size()),
          weightsAddress(module, table),
          word(table.weightsBytes),
          constantArray(module, i32, table.lifetimes, "lifetimes"),
          offsets,
          ConstantInt::getSigned(i64, table.staticArenaBytes),
          module.getFunction("perpend_bind"),
          module.getFunction("perpend_sizes"),
          module.getFunction("perpend_run"),
          handleFunctions(module, table),
          textTable(module, table),
          word(table.texts.size())};
}

void addModuleTable(Module &module, const ModuleTable &table) {
  LLVMContext &context = module.getContext();
  for (const char *name : {"perpend_bind", "perpend_sizes", "perpend_run"})
    module.getFunction(name)->setLinkage(GlobalValue::InternalLinkage);
  std::vector<Constant *> fields = fieldsOf(module, table);
  std::vector<Type *> types;
  for (Constant *field : fields)
    types.push_back(field->getType());
  auto *type = StructType::get(context, types);
  auto *global = new GlobalVariable(module, type, /*isConstant=*/true, GlobalValue::InternalLinkage,
                                    ConstantStruct::get(type, fields), "perpend_module_table");
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
