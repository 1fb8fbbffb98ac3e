//===- ModuleTable.cpp - the table that a compiled model exports ----------===//

#include "target/cpu/ModuleTable.h"

#include "perpend_module.h"
#include "runtime/variants/ChooseVariant.h"

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

/// A variable that another object defines; declared once.
static Constant *hiddenVariable(Module &module, StringRef name) {
  if (GlobalVariable *known = module.getNamedGlobal(name))
    return known;
  auto *variable = new GlobalVariable(module, Type::getInt8Ty(module.getContext()), /*isConstant=*/true,
                                      GlobalValue::ExternalLinkage, nullptr, name);
  variable->setVisibility(GlobalValue::HiddenVisibility);
  return variable;
}

static Constant *weightsAddress(Module &module, const ModuleTable &table) {
  auto *pointer = PointerType::getUnqual(module.getContext());
  if (table.weightsAddress)
    return ConstantExpr::getIntToPtr(ConstantInt::get(Type::getInt64Ty(module.getContext()), table.weightsAddress),
                                     pointer);
  if (table.weightsSymbol.empty())
    return ConstantPointerNull::get(pointer);
  return hiddenVariable(module, table.weightsSymbol);
}

static Constant *handleFunctions(Module &module, const ModuleTable &table) {
  if (table.texts.empty())
    return ConstantPointerNull::get(PointerType::getUnqual(module.getContext()));
  return hiddenVariable(module, "perpend_handle_functions_v1");
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
/// A field of perpend_module, with its offset.
struct Field {
  size_t offset;
  Constant *value;
};
} // namespace

/// The text of the descriptor. In a shared library or program, the first one has a symbol by which it can be found in
/// the file. Each library refers to its own.
static Constant *descriptorText(Module &module, const ModuleTable &table) {
  auto *text = ConstantDataArray::getString(module.getContext(), table.descriptor);
  auto *global = new GlobalVariable(module, text->getType(), true, GlobalValue::PrivateLinkage, text, "descriptor");
  if (table.isMain && !module.getNamedGlobal(descriptorSymbol)) {
    global->setName(descriptorSymbol);
    global->setLinkage(GlobalValue::ExternalLinkage);
    global->setVisibility(GlobalValue::ProtectedVisibility);
  }
  return global;
}

static std::vector<Field> fieldsOf(Module &module, const ModuleTable &table) {
  LLVMContext &context = module.getContext();
  Type *i64 = Type::getInt64Ty(context), *i32 = Type::getInt32Ty(context);
  auto word = [&](uint64_t value) { return ConstantInt::get(i64, value); };
  auto half = [&](uint32_t value) { return ConstantInt::get(i32, value); };
  Constant *descriptor = descriptorText(module, table);
  Constant *offsets = table.staticOffsets ? constantArray(module, i64, *table.staticOffsets, "offsets")
                                          : ConstantPointerNull::get(PointerType::getUnqual(context));
  // If there are static offsets but no buffers, any non-null address will do.
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
          {offsetof(perpend_module, bind), module.getFunction("perpend_bind" + table.suffix)},
          {offsetof(perpend_module, sizes), module.getFunction("perpend_sizes" + table.suffix)},
          {offsetof(perpend_module, run), module.getFunction("perpend_run" + table.suffix)},
          {offsetof(perpend_module, handles), handleFunctions(module, table)},
          {offsetof(perpend_module, texts), textTable(module, table)},
          {offsetof(perpend_module, textCount), word(table.texts.size())}};
}

/// Builds an LLVM struct from the fields, which must have the layout of the C struct.
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

static constexpr StringLiteral functionNames[] = {"perpend_bind", "perpend_sizes", "perpend_run"};

static GlobalVariable *addTable(Module &module, const ModuleTable &table) {
  Constant *content = tableOf(module.getContext(), fieldsOf(module, table));
  return new GlobalVariable(module, content->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, content,
                            "perpend_module_table");
}

/// Adds the exported functions; `build` computes their return value.
static void addExports(Module &module, const ModuleTable &table, function_ref<Value *(IRBuilder<> &)> build) {
  auto *functionType = FunctionType::get(PointerType::getUnqual(module.getContext()), false);
  std::vector<std::string> names = {"perpend_module_" + table.name};
  if (table.isMain)
    names.push_back("perpend_module_main");
  for (const std::string &name : names) {
    auto *function = Function::Create(functionType, GlobalValue::ExternalLinkage, name, module);
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", function));
    builder.CreateRet(build(builder));
  }
}

void addModuleTable(Module &module, const ModuleTable &table) {
  for (StringRef name : functionNames)
    module.getFunction(name)->setLinkage(GlobalValue::InternalLinkage);
  GlobalVariable *global = addTable(module, table);
  addExports(module, table, [&](IRBuilder<> &) { return global; });
}

void exposeFunctions(Module &module, StringRef suffix) {
  for (StringRef name : functionNames) {
    Function *function = module.getFunction(name);
    function->setName(name + suffix);
    function->setLinkage(GlobalValue::ExternalLinkage); // stays hidden, like all definitions
  }
}

/// Declares the functions that exposeFunctions renamed in another object.
static void declareFunctions(Module &module, StringRef suffix) {
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  for (StringRef name : functionNames)
    Function::Create(type, GlobalValue::ExternalLinkage, name + suffix, module)
        ->setVisibility(GlobalValue::HiddenVisibility);
}

static_assert(offsetof(perpend_variant, module) == 0 && offsetof(perpend_variant, target) == 8 &&
              offsetof(perpend_variant, isa) == 16 && sizeof(perpend_variant) == 24);

void addVariantTables(Module &module, ArrayRef<VariantTable> variants) {
  LLVMContext &context = module.getContext();
  auto *pointer = PointerType::getUnqual(context);
  auto textOf = [&](StringRef text, const char *name) {
    Constant *bytes = ConstantDataArray::getString(context, text);
    return new GlobalVariable(module, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes, name);
  };
  auto *type = StructType::get(pointer, pointer, pointer);
  SmallVector<Constant *> entries;
  for (const VariantTable &variant : variants) {
    declareFunctions(module, variant.table.suffix);
    std::string isa;
    for (const std::string &name : variant.isa)
      isa += name + '\0';
    entries.push_back(ConstantStruct::get(
        type, {addTable(module, variant.table), textOf(variant.target, "target"), textOf(isa, "isa")}));
  }
  auto *arrayType = ArrayType::get(type, entries.size());
  auto *list = new GlobalVariable(module, arrayType, /*isConstant=*/true, GlobalValue::InternalLinkage,
                                  ConstantArray::get(arrayType, entries), "perpend_variants");
  Constant *name = textOf(variants.front().table.name, "name");
  auto *i32 = Type::getInt32Ty(context);
  FunctionCallee choose = module.getOrInsertFunction("perpend_choose_variant_v1",
                                                     FunctionType::get(pointer, {pointer, i32, pointer}, false));
  cast<Function>(choose.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
  addExports(module, variants.front().table, [&](IRBuilder<> &builder) {
    return builder.CreateCall(choose, {list, ConstantInt::get(i32, entries.size()), name});
  });
}
} // namespace perpend::target
