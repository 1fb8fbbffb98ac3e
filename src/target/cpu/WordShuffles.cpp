//===- WordShuffles.cpp - words of bytes in all lanes of a vector ---------===//
#include "target/cpu/WordShuffles.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace perpend::target {
namespace {

/// A word of a vector: so many of its elements, from the first on.
struct Word {
  unsigned first, elements;
};
} // namespace

/// The word that the result repeats; nullopt: it has a single element, undefined ones, or is no part of the first
/// operand.
static std::optional<Word> repeatedWord(const ShuffleVectorInst &shuffle, unsigned operandElements) {
  const ArrayRef<int> mask = shuffle.getShuffleMask();
  unsigned period = 1;
  while (period < mask.size() && mask[period] == mask[0] + int(period))
    ++period;
  const bool isPart = mask[0] >= 0 && mask[0] + period <= operandElements && unsigned(mask[0]) % period == 0;
  if (period == 1 || mask.size() <= period || mask.size() % period != 0 || !isPart || operandElements % period != 0)
    return std::nullopt;
  for (auto [place, element] : enumerate(mask))
    if (element != mask[place % period])
      return std::nullopt;
  return Word{unsigned(mask[0]), period};
}

/// The word as a number. A load of one is of this number: as a vector, it would be less than a register again.
static Value *numberOf(IRBuilder<> &builder, Value *source, Word word, unsigned bits) {
  Type *number = builder.getIntNTy(bits);
  const unsigned words = cast<FixedVectorType>(source->getType())->getNumElements() / word.elements;
  if (words > 1)
    return builder.CreateExtractElement(builder.CreateBitCast(source, FixedVectorType::get(number, words)),
                                        uint64_t{word.first / word.elements});
  auto *load = dyn_cast<LoadInst>(source);
  if (!load || !load->isSimple())
    return builder.CreateBitCast(source, number);
  return IRBuilder<>(load).CreateAlignedLoad(number, load->getPointerOperand(), load->getAlign());
}

static Value *broadcastWord(ShuffleVectorInst &shuffle) {
  auto *type = dyn_cast<FixedVectorType>(shuffle.getType());
  auto *from = dyn_cast<FixedVectorType>(shuffle.getOperand(0)->getType());
  const std::optional<Word> word = type && from ? repeatedWord(shuffle, from->getNumElements()) : std::nullopt;
  const unsigned bits = word ? word->elements * type->getScalarSizeInBits() : 0;
  constexpr unsigned leastBits = 16, mostBits = 64; // of a number
  if (bits < leastBits || bits > mostBits || !isPowerOf2_32(bits))
    return nullptr;
  IRBuilder<> builder(&shuffle);
  Value *one = numberOf(builder, shuffle.getOperand(0), *word, bits);
  return builder.CreateBitCast(builder.CreateVectorSplat(type->getNumElements() / word->elements, one), type);
}

PreservedAnalyses BroadcastWords::run(Function &function, FunctionAnalysisManager &) {
  if (!function.hasFnAttribute(Attribute::VScaleRange))
    return PreservedAnalyses::all();
  bool isChanged = false;
  for (Instruction &instruction : make_early_inc_range(instructions(function)))
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction))
      if (Value *value = broadcastWord(*shuffle)) {
        shuffle->replaceAllUsesWith(value);
        shuffle->eraseFromParent();
        isChanged = true;
      }
  return isChanged ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace perpend::target
