//===- Lanes.cpp - scalar functions with vector counterparts --------------===//
#include "target/cpu/Lanes.h"

#include "target/TargetInfo.h"
#include "target/cpu/Architecture.h"
#include "tile/passes/FarFunctions.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace perpend::target {
namespace {

/// A function of tile/passes/FarFunctions.h: of operands, then of what holds unless they are far.
struct FarFunction {
  Value *(*isFar)(IRBuilder<> &builder, ArrayRef<Value *> operands);
  Value *(*compute)(IRBuilder<> &builder, ArrayRef<Value *> operands);
};
struct LaneFunction : InstructionFunction {
  std::optional<FarFunction> far = std::nullopt;
};

Value *absolute(IRBuilder<> &builder, Value *x) { return builder.CreateUnaryIntrinsic(Intrinsic::fabs, x); }
bool isDouble(Value *x) { return x->getType()->getScalarType()->isDoubleTy(); }

Value *isLarge(IRBuilder<> &builder, ArrayRef<Value *> x) {
  double least = isDouble(x[0]) ? tile::leastFarDouble : tile::leastFar;
  return builder.CreateFCmpOGE(absolute(builder, x[0]), ConstantFP::get(x[0]->getType(), least));
}

/// By the function of f64.
template <Intrinsic::ID function> Value *computeWide(IRBuilder<> &builder, ArrayRef<Value *> x) {
  Type *type = x[0]->getType();
  Value *wide = builder.CreateFPExt(x[0], type->getWithNewType(builder.getDoubleTy()));
  return builder.CreateFPTrunc(builder.CreateUnaryIntrinsic(function, wide), type);
}

Value *isLargeQuotient(IRBuilder<> &builder, ArrayRef<Value *> operands) {
  double least = isDouble(operands[0]) ? tile::leastQuotientDouble : tile::leastQuotient;
  Value *x = absolute(builder, operands[0]), *y = absolute(builder, operands[1]);
  return builder.CreateFCmpUGE(x, builder.CreateFMul(y, ConstantFP::get(y->getType(), least)));
}

Value *computeRemainder(IRBuilder<> &builder, ArrayRef<Value *> operands) {
  return builder.CreateFRem(operands[0], operands[1]);
}

constexpr FarFunction sine{isLarge, computeWide<Intrinsic::sin>}, cosine{isLarge, computeWide<Intrinsic::cos>},
    tangent{isLarge, computeWide<Intrinsic::tan>}, remainder{isLargeQuotient, computeRemainder};
constexpr LaneFunction farFunctions[] = {
    {{tile::farSineFunction, nullptr}, sine},           {{tile::farCosineFunction, nullptr}, cosine},
    {{tile::farTangentFunction, nullptr}, tangent},     {{tile::farSineFunctionDouble, nullptr}, sine},
    {{tile::farCosineFunctionDouble, nullptr}, cosine}, {{tile::farTangentFunctionDouble, nullptr}, tangent},
    {{tile::remainderFunction, nullptr}, remainder},    {{tile::remainderFunctionDouble, nullptr}, remainder}};
constexpr unsigned leastLanes = 4, mostLanes = 16;
constexpr unsigned leastLanesOfCalls = 2; // beside two numbers of f64, where vectors have 16 bytes

StringRef mappings() { return "vector-function-abi-variant"; }

std::string variantName(const LaneFunction &function, unsigned lanes) {
  return formatv("{0}.{1}", function.name, lanes).str();
}

void setAttributes(Function &function) {
  for (Attribute::AttrKind kind : {Attribute::NoInline, Attribute::NoSync, Attribute::NoFree, Attribute::NoUnwind,
                                   Attribute::WillReturn, Attribute::Speculatable})
    function.addFnAttr(kind);
  function.setDoesNotAccessMemory();
}

/// The operands of a far function; the last argument is what holds unless they are far.
SmallVector<Value *> operandsOf(Function &function) {
  auto arguments = map_to_vector(function.args(), [](Argument &x) -> Value * { return &x; });
  arguments.pop_back();
  return arguments;
}
Argument *nearOf(Function &function) { return function.getArg(function.arg_size() - 1); }

/// Of each number, in a function of its own, which is not written in place: loops keep no registers for it.
Function *makeFar(Function &function, const FarFunction &meaning) {
  auto *far = Function::Create(function.getFunctionType(), GlobalValue::InternalLinkage, function.getName() + ".far",
                               function.getParent());
  setAttributes(*far);
  far->addFnAttr(Attribute::Cold);
  IRBuilder<> builder(BasicBlock::Create(function.getContext(), "", far));
  SmallVector<Value *> operands = operandsOf(*far);
  Value *result = meaning.compute(builder, operands);
  builder.CreateRet(builder.CreateSelect(meaning.isFar(builder, operands), result, nearOf(*far)));
  return far;
}

/// The last argument, unless an operand or a number of it is far.
void defineChoice(Function &function, const FarFunction &meaning) {
  LLVMContext &context = function.getContext();
  auto *entry = BasicBlock::Create(context, "", &function), *far = BasicBlock::Create(context, "far", &function),
       *usual = BasicBlock::Create(context, "usual", &function);
  auto arguments = map_to_vector(function.args(), [](Argument &x) -> Value * { return &x; });
  IRBuilder<> builder(entry);
  Value *isAny = meaning.isFar(builder, operandsOf(function));
  if (isAny->getType()->isVectorTy())
    isAny = builder.CreateOrReduce(isAny);
  builder.CreateCondBr(isAny, far, usual, MDBuilder(context).createBranchWeights(1, 1 << 20));
  builder.SetInsertPoint(far);
  builder.CreateRet(builder.CreateCall(makeFar(function, meaning), arguments));
  builder.SetInsertPoint(usual);
  builder.CreateRet(nearOf(function));
}

void defineVariant(Function &scalar, const LaneFunction &function, unsigned lanes) {
  auto inLanes = [&](Type *type) -> Type * { return FixedVectorType::get(type, lanes); };
  auto *type = FunctionType::get(inLanes(scalar.getReturnType()),
                                 map_to_vector(scalar.getFunctionType()->params(), inLanes), /*isVarArg=*/false);
  Function *variant = scalar.getParent()->getFunction(variantName(function, lanes));
  if (!variant) // nothing calls it by itself
    variant = Function::Create(type, GlobalValue::ExternalLinkage, variantName(function, lanes), scalar.getParent());
  variant->deleteBody();
  variant->setLinkage(GlobalValue::ExternalLinkage);
  setAttributes(*variant);
  if (function.far)
    return defineChoice(*variant, *function.far);
  IRBuilder<> builder(BasicBlock::Create(scalar.getContext(), "", variant));
  builder.CreateRet(
      function.emit(builder, map_to_vector(variant->args(), [](Argument &x) -> Value * { return &x; }), lanes));
}

/// Defines the scalar function by the first lane of the narrowest vector.
void defineScalar(Function &scalar, const LaneFunction &function) {
  if (function.far)
    return defineChoice(scalar, *function.far);
  IRBuilder<> builder(BasicBlock::Create(scalar.getContext(), "", &scalar));
  auto operands = map_to_vector(scalar.args(), [&](Argument &x) -> Value * {
    return builder.CreateInsertElement(PoisonValue::get(FixedVectorType::get(x.getType(), leastLanes)), &x,
                                       uint64_t(0));
  });
  builder.CreateRet(builder.CreateExtractElement(function.emit(builder, operands, leastLanes), uint64_t(0)));
}
} // namespace

/// The architecture's instructions, and those that rare numbers alone need a call for.
static SmallVector<LaneFunction> laneFunctionsOf(const Architecture *architecture) {
  SmallVector<LaneFunction> all;
  for (const InstructionFunction &function : architecture ? architecture->functions : ArrayRef<InstructionFunction>())
    all.push_back({function});
  append_range(all, farFunctions);
  return all;
}

/// The function of numbers, if code uses it or one of its vectors; made in the latter case.
static Function *scalarOf(Module &module, const LaneFunction &function, const TargetInfo &target) {
  if (Function *scalar = module.getFunction(function.name); scalar && !scalar->use_empty())
    return scalar;
  for (unsigned lanes = leastLanes; lanes <= target.vectorLanes(/*elementBytes=*/4); lanes *= 2) {
    Function *vector = module.getFunction(variantName(function, lanes));
    if (!vector || vector->use_empty())
      continue;
    auto ofNumbers = [](Type *type) { return type->getScalarType(); };
    auto *type = FunctionType::get(ofNumbers(vector->getReturnType()),
                                   map_to_vector(vector->getFunctionType()->params(), ofNumbers), /*isVarArg=*/false);
    return cast<Function>(module.getOrInsertFunction(function.name, type).getCallee());
  }
  return nullptr;
}

void defineLaneFunctions(Module &module, const TargetInfo &target) {
  for (const LaneFunction &function : laneFunctionsOf(architectureOf(target.code))) {
    Function *scalar = scalarOf(module, function, target);
    if (!scalar)
      continue;
    scalar->deleteBody();
    scalar->setLinkage(GlobalValue::ExternalLinkage);
    setAttributes(*scalar);
    std::string variants;
    for (unsigned lanes = function.far ? leastLanesOfCalls : leastLanes;
         lanes <= target.vectorLanes(/*elementBytes=*/4); lanes *= 2) {
      defineVariant(*scalar, function, lanes);
      variants += formatv("{0}_ZGV_LLVM_N{1}{2}_{3}({4})", variants.empty() ? "" : ",", lanes,
                          std::string(scalar->arg_size(), 'v'), function.name, variantName(function, lanes));
    }
    scalar->addFnAttr(mappings(), variants);
    defineScalar(*scalar, function);
  }
}

bool releaseLaneFunctions(Module &module, const TargetInfo &target) {
  bool isUsed = false;
  auto release = [&](StringRef name) {
    Function *function = module.getFunction(name);
    if (!function)
      return;
    function->setLinkage(GlobalValue::InternalLinkage);
    function->removeFnAttr(Attribute::NoInline);
    function->addFnAttr(Attribute::AlwaysInline);
    isUsed = true;
  };
  for (const LaneFunction &function : laneFunctionsOf(architectureOf(target.code))) {
    release(function.name);
    for (unsigned lanes = leastLanesOfCalls; lanes <= mostLanes; lanes *= 2)
      release(variantName(function, lanes));
  }
  return isUsed;
}

} // namespace perpend::target
