//===- ModuleTable.cpp - the table that a compiled model exports ----------===//

#include "target/cpu/ModuleTable.h"
#include "target/cpu/ModuleFunctions.h"

#include "perpend_module.h"
#include "runtime/variants/ChooseVariant.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <cstddef>

using namespace llvm;

namespace perpend::target {

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

static Constant *segmentFunctions(Module &module, const ModuleTable &table) {
  if (!table.areWeightsInFiles)
    return ConstantPointerNull::get(PointerType::getUnqual(module.getContext()));
  return hiddenVariable(module, "perpend_segment_functions_v1");
}

static constexpr StringLiteral functionNames[] = {"perpend_bind", "perpend_sizes", "perpend_run"};

std::vector<std::string> functionNamesOf(size_t entryCount) {
  std::vector<std::string> names;
  for (size_t entry = 0; entry < entryCount; ++entry)
    for (StringRef name : functionNames)
      names.push_back(name.str() + suffixOfEntry(entry));
  return names;
}

/// The functions of the entries behind the first, three for each.
static Constant *otherFunctions(Module &module, const ModuleTable &table) {
  auto *pointer = PointerType::getUnqual(module.getContext());
  if (table.entryCount == 1)
    return ConstantPointerNull::get(pointer);
  static_assert(sizeof(perpend_entry_functions) == 3 * sizeof(void *));
  std::vector<Constant *> functions;
  const std::vector<std::string> names = functionNamesOf(table.entryCount);
  for (StringRef name : ArrayRef(names).drop_front(std::size(functionNames)))
    functions.push_back(module.getFunction((name + table.suffix).str()));
  auto *type = ArrayType::get(pointer, functions.size());
  return new GlobalVariable(module, type, /*isConstant=*/true, GlobalValue::InternalLinkage,
                            ConstantArray::get(type, functions), "perpend_entry_functions");
}

static Constant *stateFunctions(Module &module, const ModuleTable &table) {
  if (!table.hasStates)
    return ConstantPointerNull::get(PointerType::getUnqual(module.getContext()));
  return hiddenVariable(module, "perpend_state_functions_v1");
}

namespace {
/// A field of perpend_module, with its offset.
struct Field {
  size_t offset;
  Constant *value;
};
} // namespace

/// In a shared library or program, the first tables have a symbol by which they can be found in the file. Each library
/// refers to its own.
static Constant *tablesOf(Module &module, const ModuleTable &table) {
  auto *bytes = ConstantDataArray::getString(module.getContext(), table.tables, /*AddNull=*/false);
  auto *global = new GlobalVariable(module, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes, "tables");
  global->setAlignment(Align(alignof(int64_t)));
  if (table.isMain && !module.getNamedGlobal(tablesSymbol)) {
    global->setName(tablesSymbol);
    global->setLinkage(GlobalValue::ExternalLinkage);
    global->setVisibility(GlobalValue::ProtectedVisibility);
  }
  return global;
}

static std::vector<Field> fieldsOf(Module &module, const ModuleTable &table) {
  LLVMContext &context = module.getContext();
  Type *i64 = Type::getInt64Ty(context), *i32 = Type::getInt32Ty(context);
  return {{offsetof(perpend_module, magic), ConstantInt::get(i64, PERPEND_MODULE_MAGIC)},
          {offsetof(perpend_module, abi), ConstantInt::get(i32, PERPEND_MODULE_ABI)},
          {offsetof(perpend_module, tablesBytes), ConstantInt::get(i32, table.tables.size())},
          {offsetof(perpend_module, tables), tablesOf(module, table)},
          {offsetof(perpend_module, weights), weightsAddress(module, table)},
          {offsetof(perpend_module, weightsBytes), ConstantInt::get(i64, table.weightsBytes)},
          {offsetof(perpend_module, bind), module.getFunction("perpend_bind" + table.suffix)},
          {offsetof(perpend_module, sizes), module.getFunction("perpend_sizes" + table.suffix)},
          {offsetof(perpend_module, run), module.getFunction("perpend_run" + table.suffix)},
          {offsetof(perpend_module, handles), handleFunctions(module, table)},
          {offsetof(perpend_module, segments), segmentFunctions(module, table)},
          {offsetof(perpend_module, states), stateFunctions(module, table)},
          {offsetof(perpend_module, others), otherFunctions(module, table)}};
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
  for (StringRef name : functionNamesOf(table.entryCount))
    module.getFunction(name)->setLinkage(GlobalValue::InternalLinkage);
  GlobalVariable *global = addTable(module, table);
  addExports(module, table, [&](IRBuilder<> &) { return global; });
}

void exposeFunctions(Module &module, const ModuleTable &table) {
  for (const std::string &name : functionNamesOf(table.entryCount)) {
    Function *function = module.getFunction(name);
    function->setName(name + table.suffix);
    function->setLinkage(GlobalValue::ExternalLinkage); // stays hidden, like all definitions
  }
}

/// Declares the functions that exposeFunctions renamed in another object.
static void declareFunctions(Module &module, const ModuleTable &table) {
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  for (const std::string &name : functionNamesOf(table.entryCount))
    Function::Create(type, GlobalValue::ExternalLinkage, name + table.suffix, module)
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
    declareFunctions(module, variant.table);
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
