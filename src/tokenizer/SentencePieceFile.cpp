//===- SentencePieceFile.cpp - reads tokenizer.model ----------------------===//
//
// The file is a protocol buffer: fields of a number and a kind, then a varint,
// 4 or 8 bytes, or a length and bytes. Fields that are not known are skipped.
//
//===----------------------------------------------------------------------===//

#include "tokenizer/Refusal.h"
#include "tokenizer/SentencePiece.h"

#include "llvm/Support/Endian.h"

namespace perpend::tokenizer {
namespace {

/// Reads the fields of a message one after another. After an error there are no more.
class Fields {
public:
  explicit Fields(llvm::StringRef message) : rest(message) {}

  /// False: there are no more, or the message is damaged.
  bool next();
  bool isDamaged() const { return damaged; }

  uint64_t number = 0;  ///< of the field
  uint64_t value = 0;   ///< a varint, or 4 or 8 bytes
  llvm::StringRef text; ///< bytes

private:
  uint64_t varint();
  llvm::StringRef take(uint64_t bytes);

  llvm::StringRef rest;
  bool damaged = false;
};

uint64_t Fields::varint() {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest.empty())
      break;
    const auto byte = static_cast<unsigned char>(rest[0]);
    rest = rest.drop_front();
    result |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80)
      return result;
  }
  damaged = true;
  return 0;
}

llvm::StringRef Fields::take(uint64_t bytes) {
  damaged |= bytes > rest.size();
  const llvm::StringRef taken = rest.take_front(damaged ? 0 : bytes);
  rest = rest.drop_front(taken.size());
  return taken;
}

bool Fields::next() {
  if (rest.empty() || damaged)
    return false;
  const uint64_t tag = varint();
  number = tag >> 3;
  value = 0;
  text = "";
  switch (tag & 7) {
  case 0:
    value = varint();
    break;
  case 1:
    text = take(8);
    break;
  case 2:
    text = take(varint());
    break;
  case 5:
    text = take(4);
    value = text.size() == 4 ? llvm::support::endian::read32le(text.data()) : 0;
    break;
  default:
    damaged = true;
  }
  damaged |= number == 0;
  return !damaged;
}

/// The parts of a file. False: it is damaged.
bool readPiece(llvm::StringRef message, SentencePieceModel::Entry &entry) {
  Fields fields(message);
  while (fields.next()) {
    if (fields.number == 1)
      entry.text = fields.text.str();
    if (fields.number == 2)
      entry.score = llvm::bit_cast<float>(static_cast<uint32_t>(fields.value));
    if (fields.number == 3)
      entry.type = static_cast<PieceType>(std::min<uint64_t>(fields.value, 7));
  }
  return !fields.isDamaged() && !entry.text.empty() && entry.type >= PieceType::Normal &&
         entry.type <= PieceType::Byte && entry.score == entry.score;
}

bool readTrainer(llvm::StringRef message, SentencePieceModel &model) {
  Fields fields(message);
  while (fields.next()) {
    if (fields.number == 3)
      model.kind = static_cast<SentencePieceModel::Kind>(std::min<uint64_t>(fields.value, 5));
    if (fields.number == 24)
      model.spaceIsSuffix = fields.value;
    if (fields.number == 35)
      model.fallsBackToBytes = fields.value;
    if (fields.number == 44)
      model.unknownSurface = fields.text.split('\0').first.str();
  }
  return !fields.isDamaged() && model.kind >= SentencePieceModel::Unigram &&
         model.kind <= SentencePieceModel::Character;
}

bool readNormalizer(llvm::StringRef message, SentencePieceModel &model) {
  Fields fields(message);
  while (fields.next()) {
    if (fields.number == 2)
      model.charsmap = fields.text.str();
    if (fields.number == 3)
      model.addsPrefix = fields.value;
    if (fields.number == 4)
      model.removesExtraSpaces = fields.value;
    if (fields.number == 5)
      model.escapesSpaces = fields.value;
  }
  return !fields.isDamaged();
}

bool hasMap(llvm::StringRef message) {
  SentencePieceModel unused;
  return readNormalizer(message, unused) && !unused.charsmap.empty();
}

} // namespace

llvm::Expected<SentencePieceModel> readSentencePieceModel(llvm::StringRef bytes) {
  SentencePieceModel model;
  Fields fields(bytes);
  bool isGood = true;
  while (isGood && fields.next()) {
    if (fields.number == 1)
      isGood = readPiece(fields.text, model.pieces.emplace_back());
    if (fields.number == 2)
      isGood = readTrainer(fields.text, model);
    if (fields.number == 3)
      isGood = readNormalizer(fields.text, model);
    if (fields.number == 5)
      model.hasDenormalizer = hasMap(fields.text);
  }
  if (!isGood || fields.isDamaged() || model.pieces.empty())
    return refuse("expected a SentencePiece model, got something else, from piece " + llvm::Twine(model.pieces.size()),
                  "the file may be damaged; fetch it again");
  return model;
}
} // namespace perpend::tokenizer
