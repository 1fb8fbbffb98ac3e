//===- ModelTables.cpp - the tables that the runtime reads ----------------===//
//
// The layout is runtime/include/perpend_tables.h. Equal texts and lists are
// written once.
//
//===----------------------------------------------------------------------===//

#include "compiler/Description.h"
#include "target/cpu/Architecture.h"

#include "runtime/Types.h"

#include "perpend_process.h"
#include "perpend_tables.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace perpend {
namespace {

static_assert(llvm::endianness::native == llvm::endianness::little, "records are written as they are in memory");

class TableWriter {
public:
  TableWriter() : bytes(sizeof(perpend_tables), '\0') {}

  /// Invalid UTF-8 is replaced, as in the descriptor, and so are NULs, which would end the text.
  uint32_t text(StringRef text) {
    std::string valid = llvm::json::fixUTF8(text);
    for (size_t at; (at = valid.find('\0')) != std::string::npos;)
      valid.replace(at, 1, "\xEF\xBF\xBD");
    valid.push_back('\0');
    return put(valid, 1);
  }
  perpend_records texts(ArrayRef<std::string> texts) {
    SmallVector<uint32_t> positions;
    for (const std::string &one : texts)
      positions.push_back(text(one));
    return records<uint32_t>(positions);
  }
  template <typename T> perpend_records records(ArrayRef<T> values) {
    if (values.empty())
      return {};
    return {put({reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)}, alignof(T)),
            static_cast<uint32_t>(values.size())};
  }
  /// Bytes at any position, which may be 0 if there are none.
  uint32_t constant(StringRef text) { return text.empty() ? 0 : put(text, 1); }

  /// Bytes that are not compared with others.
  uint32_t asset(StringRef value) {
    bytes.resize(llvm::alignTo(bytes.size(), PERPEND_ASSET_ALIGNMENT));
    bytes += value;
    return static_cast<uint32_t>(bytes.size() - value.size());
  }

  std::string finish(const perpend_tables &head) {
    std::memcpy(bytes.data(), &head, sizeof head);
    bytes.push_back('\0');
    return std::move(bytes);
  }

private:
  uint32_t put(StringRef value, size_t alignment) {
    auto [entry, isNew] = known.try_emplace(value, 0);
    if (isNew || entry->second % alignment) {
      bytes.resize(llvm::alignTo(bytes.size(), alignment));
      entry->second = static_cast<uint32_t>(bytes.size());
      bytes += value;
    }
    return entry->second;
  }

  std::string bytes;
  llvm::StringMap<uint32_t> known;
};

} // namespace

static perpend_tensor_record recordOf(const TensorDescription &tensor, TableWriter &writer) {
  SmallVector<int64_t> dims;
  for (const std::string &extent : tensor.shape)
    if (StringRef(extent).getAsInteger(10, dims.emplace_back()))
      dims.back() = -1;
  perpend_type type = PERPEND_F32;
  (void)runtime::findType(tensor.type.c_str(), type); // VerifyModule has checked it
  perpend_tensor_record record = {};
  record.name = tensor.name.empty() ? 0 : writer.text(tensor.name);
  record.type = type;
  record.rank = tensor.isRanked ? static_cast<int32_t>(dims.size()) : -1;
  record.dims = writer.records<int64_t>(dims).position;
  record.dimTexts = writer.texts(tensor.shape).position;
  for (const TensorDescription &element : tensor.element)
    record.element = writer.records<perpend_tensor_record>(recordOf(element, writer)).position;
  return record;
}

static perpend_records recordsOf(ArrayRef<TensorDescription> tensors, TableWriter &writer) {
  SmallVector<perpend_tensor_record> records;
  for (const TensorDescription &tensor : tensors)
    records.push_back(recordOf(tensor, writer));
  return writer.records<perpend_tensor_record>(records);
}

static perpend_records repeatsOf(const EntryDescription &description, TableWriter &writer) {
  SmallVector<perpend_repeat_record> records;
  for (auto [input, tensor] : llvm::enumerate(description.inputs))
    for (int64_t dim : tensor.repeats) {
      const size_t symbol = llvm::find(description.symbols, tensor.shape[dim]) - description.symbols.begin();
      records.push_back({static_cast<uint32_t>(input), static_cast<uint32_t>(dim), static_cast<uint32_t>(symbol)});
    }
  return writer.records<perpend_repeat_record>(records);
}

static perpend_records textsOf(ArrayRef<std::string> texts, TableWriter &writer) {
  SmallVector<perpend_text_record> records;
  for (const std::string &text : texts)
    records.push_back({writer.constant(text), static_cast<uint32_t>(text.size())});
  return writer.records<perpend_text_record>(records);
}

static perpend_records assetsOf(const ModelDescription &description, TableWriter &writer) {
  SmallVector<perpend_asset_record> records;
  for (const auto &[name, bytes] : description.assets)
    records.push_back({writer.text(name), writer.asset(bytes), bytes.size()});
  return writer.records<perpend_asset_record>(records);
}

static perpend_records filesOf(const ModelDescription &description, TableWriter &writer) {
  SmallVector<perpend_segment_record> records;
  for (const WeightsPart &part : description.parts) {
    perpend_segment_record &record = records.emplace_back();
    record = {part.bytes, part.offset, part.position, part.fileBytes, writer.text(part.name), part.checksum, 1, 0};
    record.hasHeader = part.hasHeader;
  }
  return writer.records<perpend_segment_record>(records);
}

static perpend_records segmentsOf(const ModelDescription &description, TableWriter &writer) {
  if (!description.parts.empty())
    return filesOf(description, writer);
  perpend_segment_record segment = {};
  segment.bytes = description.table.weightsBytes;
  segment.hasChecksum = !StringRef(description.checksum).getAsInteger(16, segment.checksum);
  if (segment.bytes == 0)
    return {};
  return writer.records<perpend_segment_record>(segment);
}

static perpend_records statesOf(const ModelDescription &description, TableWriter &writer) {
  SmallVector<TensorDescription> tensors;
  for (const StateDescription &state : description.states)
    tensors.push_back(state.tensor);
  return recordsOf(tensors, writer);
}

static perpend_records stateFactsOf(const ModelDescription &description, TableWriter &writer) {
  SmallVector<perpend_state_record> records;
  for (const StateDescription &state : description.states) {
    perpend_state_record record = {};
    record.growing = static_cast<uint32_t>(state.growing.value_or(static_cast<int64_t>(state.tensor.shape.size())));
    if (state.reads && *state.reads <= UINT32_MAX) // 0, which keeps all: runs write what callers read
      record.keptRows = static_cast<uint32_t>(*state.reads);
    record.initialOffset = static_cast<uint64_t>(state.initialOffset);
    record.initialBytes = static_cast<uint64_t>(state.initialBytes);
    records.push_back(record);
  }
  return writer.records<perpend_state_record>(records);
}

static perpend_records entryStatesOf(const EntryDescription &description, TableWriter &writer) {
  SmallVector<perpend_entry_state_record> records;
  for (auto [state, update] : description.states)
    records.push_back({state, update});
  return writer.records<perpend_entry_state_record>(records);
}

static perpend_entry_record entryOf(const EntryDescription &description, TableWriter &writer) {
  SmallVector<perpend_buffer_lifetime> lifetimes;
  for (size_t i = 0; i + 1 < description.lifetimes.size(); i += 2)
    lifetimes.push_back(
        {static_cast<int32_t>(description.lifetimes[i]), static_cast<int32_t>(description.lifetimes[i + 1])});
  perpend_entry_record entry = {};
  entry.name = writer.text(description.name);
  entry.growingCount = description.growingCount;
  entry.symbols = writer.texts(description.symbols);
  entry.inputs = recordsOf(description.inputs, writer);
  entry.outputs = recordsOf(description.outputs, writer);
  entry.states = entryStatesOf(description, writer);
  entry.repeats = repeatsOf(description, writer);
  entry.lifetimes = writer.records<perpend_buffer_lifetime>(lifetimes);
  entry.arenaBytes = -1;
  entry.strategy = description.strategy;
  if (description.staticOffsets) {
    entry.offsets = writer.records<int64_t>(*description.staticOffsets);
    entry.arenaBytes = description.staticArenaBytes;
  }
  return entry;
}

llvm::Error writeTables(ModelDescription &description, const target::TargetInfo &target) {
  target::ModuleTable &table = description.table;
  uint64_t textBytes = table.descriptor.size(); // all names are in the descriptor, too
  for (const std::string &text : table.texts)
    textBytes += text.size() + sizeof(perpend_text_record);
  constexpr uint64_t mostTextBytes = uint64_t{1} << 30; // positions have 32 bits
  if (textBytes > mostTextBytes)
    return llvm::createStringError(llvm::formatv("the model's names and constant texts take {0} bytes, expected at "
                                                 "most {1}\nhint: keep large lists of texts outside of the model",
                                                 textBytes, mostTextBytes));
  TableWriter writer;
  perpend_tables head = {};
  SmallVector<perpend_entry_record> entries;
  for (const EntryDescription &entry : description.entries)
    entries.push_back(entryOf(entry, writer));
  head.entries = writer.records<perpend_entry_record>(entries);
  head.segments = segmentsOf(description, writer);
  head.states = statesOf(description, writer);
  head.stateFacts = stateFactsOf(description, writer);
  head.name = writer.text(table.name);
  head.target = writer.text(target.name);
  head.isa = writer.texts(target::extensionsOf(target));
  head.kernels = writer.texts(description.kernels);
  head.texts = textsOf(table.texts, writer);
  head.descriptor = writer.text(table.descriptor);
  head.assets = assetsOf(description, writer);
  head.process = table.weightsAddress ? static_cast<uint64_t>(perpend_process_number()) : 0;
  table.tables = writer.finish(head);
  return llvm::Error::success();
}
} // namespace perpend
