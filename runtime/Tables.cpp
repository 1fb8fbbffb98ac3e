// Reads the tables. Every position and count in them is compared with their size before it is used. Errors are sticky:
// after the first one every function returns something harmless, so callers check once at the end.
#include "Tables.h"
#include "Errors.h"
#include "Planner.h"
#include <cstring>

namespace perpend::runtime {
namespace {

class Reader {
public:
  Reader(const char *base, uint32_t bytes, Region &region) : base(base), bytes(bytes), region(region) {}

  // `count` records of a type without pointers; nullptr if they do not lie in the tables.
  template <typename T> const T *records(perpend_records place) {
    return static_cast<const T *>(recordsOf(place, sizeof(T), alignof(T)));
  }
  const char *text(uint32_t position);                                // it must be there
  const char *optionalText(uint32_t position, const char *otherwise); // 0: otherwise
  NameList names(perpend_records place);
  TensorList tensors(perpend_records place);
  void entries(perpend_records place, Tables &tables);
  void checkTexts(perpend_records place);
  SegmentList segments(perpend_records place, uint64_t weightsBytes);
  AssetList assets(perpend_records place);

  // What is read next, for the message of an error.
  Reader &in(const char *part) {
    current = isGood() ? part : current;
    return *this;
  }
  perpend_status status() const;

private:
  const void *recordsOf(perpend_records place, uint32_t recordBytes, uint32_t alignment);
  void tensor(const perpend_tensor_record &record, perpend_tensor_info &info, bool isElement);
  RepeatList repeats(perpend_records place, const Entry &entry);
  void plan(const perpend_entry_record &record, Entry &entry);
  void entry(const perpend_entry_record &record, uint32_t stateCount, Entry &entry);
  template <typename T> T *allocate(size_t count) {
    T *memory = region.allocate<T>(count);
    isFull |= !memory;
    return memory;
  }
  void expect(bool holds) { failed |= !holds; }
  bool isGood() const { return !failed && !isFull; }

  const char *base;
  uint32_t bytes;
  Region &region;
  const char *current = "head";
  bool failed = false, isFull = false;
};

const void *Reader::recordsOf(perpend_records place, uint32_t recordBytes, uint32_t alignment) {
  const bool isInside = place.position <= bytes && place.count <= (bytes - place.position) / recordBytes &&
                        place.position % alignment == 0;
  expect(isInside);
  return isInside ? base + place.position : nullptr;
}

const char *Reader::text(uint32_t position) {
  expect(position != 0 && position < bytes);
  return position < bytes ? base + position : "";
}

const char *Reader::optionalText(uint32_t position, const char *otherwise) {
  return position ? text(position) : otherwise;
}

NameList Reader::names(perpend_records place) {
  const auto *positions = records<uint32_t>(place);
  if (!positions)
    return {};
  for (uint32_t i = 0; i < place.count; ++i)
    text(positions[i]);
  return {base, positions, place.count};
}

void Reader::tensor(const perpend_tensor_record &record, perpend_tensor_info &info, bool isElement) {
  info.type = static_cast<perpend_type>(record.type < PERPEND_TYPE_COUNT ? record.type : 0);
  info.rank = record.rank;
  expect(record.type < PERPEND_TYPE_COUNT && record.rank <= PERPEND_MAX_RANK && record.rank >= (isElement ? -1 : 0));
  if (!isElement)
    info.name = text(record.name);
  if (!isGood() || record.rank < 0)
    return;
  const auto rank = static_cast<uint32_t>(record.rank);
  info.dims = records<int64_t>({record.dims, rank});
  const NameList texts = names({record.dimTexts, rank});
  auto **dimTexts = allocate<const char *>(rank);
  info.dimTexts = dimTexts;
  for (uint32_t i = 0; i < rank && isGood(); ++i) {
    dimTexts[i] = texts[i];
    expect(info.dims[i] >= -1);
  }
}

TensorList Reader::tensors(perpend_records place) {
  const auto *list = records<perpend_tensor_record>(place);
  auto *tensors = allocate<perpend_tensor_info>(list ? place.count : 0);
  for (uint32_t i = 0; i < place.count && isGood(); ++i) {
    const perpend_tensor_record *record = &list[i];
    perpend_tensor_info *info = &tensors[i];
    tensor(*record, *info, /*isElement=*/false);
    for (uint32_t depth = 0; record->element && isGood(); ++depth) {
      record = records<perpend_tensor_record>({record->element, 1});
      auto *element = allocate<perpend_tensor_info>(1);
      expect(depth < PERPEND_MAX_NESTING);
      if (!isGood())
        break;
      tensor(*record, *element, /*isElement=*/true);
      info->element = element;
      info = element;
    }
  }
  return {tensors, place.count};
}

RepeatList Reader::repeats(perpend_records place, const Entry &entry) {
  const auto *list = records<perpend_repeat_record>(place);
  uint64_t previous = 0;
  for (uint32_t i = 0; i < place.count && isGood(); ++i) {
    const auto [input, dim, symbol] = list[i];
    const uint64_t next = (uint64_t{input} << 32 | dim) + 1; // in increasing order
    expect(next > previous && input < entry.inputs.count && symbol < entry.symbols.count);
    if (!isGood())
      break;
    const perpend_tensor_info &info = entry.inputs.tensors[input];
    expect(dim < static_cast<uint32_t>(info.rank) && info.dims[dim] < 0);
    previous = next;
  }
  return {list, place.count};
}

void Reader::plan(const perpend_entry_record &record, Entry &entry) {
  const bool isPlanned = record.arenaBytes >= 0;
  entry.lifetimes = records<perpend_buffer_lifetime>(record.lifetimes);
  entry.offsets = records<int64_t>(record.offsets);
  entry.bufferCount = record.lifetimes.count;
  entry.arenaBytes = isPlanned ? record.arenaBytes : -1;
  entry.growingCount = record.growingCount;
  entry.strategy = record.strategy;
  expect(record.strategy < strategyCount);
  expect(record.lifetimes.count <= INT32_MAX && record.offsets.count == (isPlanned ? record.lifetimes.count : 0));
  for (uint32_t i = 0; i < record.offsets.count && isGood(); ++i)
    expect(entry.offsets[i] >= 0 && entry.offsets[i] <= record.arenaBytes && entry.offsets[i] % PERPEND_ALIGNMENT == 0);
}

void Reader::entry(const perpend_entry_record &record, uint32_t stateCount, Entry &entry) {
  entry.name = in("entry").text(record.name);
  entry.symbols = in("symbols").names(record.symbols);
  entry.inputs = in("inputs").tensors(record.inputs);
  entry.outputs = in("outputs").tensors(record.outputs);
  entry.states = {in("entry's states").records<perpend_entry_state_record>(record.states), record.states.count};
  for (uint32_t i = 0; i < entry.states.count && isGood(); ++i)
    expect(entry.states.entries[i].state < stateCount && entry.states.entries[i].update <= PERPEND_UPDATE_WRITTEN);
  entry.repeats = in("repeats").repeats(record.repeats, entry);
  in("plan").plan(record, entry);
}

void Reader::entries(perpend_records place, Tables &tables) {
  const auto *list = records<perpend_entry_record>(place);
  expect(place.count);
  auto *entries = allocate<Entry>(isGood() ? place.count : 0);
  for (uint32_t i = 0; i < place.count && isGood(); ++i)
    entry(list[i], tables.states.count, entries[i]);
  if (!isGood())
    return;
  tables.entries = entries;
  tables.entryCount = place.count;
  tables.entry = entries[0];
}

// Only code of the artifact reads them (runtime/library).
void Reader::checkTexts(perpend_records place) {
  const auto *list = records<perpend_text_record>(place);
  for (uint32_t i = 0; i < place.count && isGood(); ++i)
    expect(list[i].position <= bytes && list[i].bytes <= bytes - list[i].position && (i || !list[i].bytes));
}

// The section of weights, or files that are mapped to parts of a range.
SegmentList Reader::segments(perpend_records place, uint64_t weightsBytes) {
  const auto *list = records<perpend_segment_record>(place);
  const perpend_segment_record section = isGood() && place.count ? list[0] : perpend_segment_record{};
  if (!section.file) {
    expect(place.count <= 1 && !section.offset && !section.position && section.bytes == weightsBytes);
    return {list, place.count};
  }
  constexpr uint64_t page = PERPEND_SEGMENT_PAGE, most = UINT64_MAX / 4;
  uint64_t end = 0; // of the pages so far
  for (uint32_t i = 0; i < place.count && isGood(); ++i) {
    const perpend_segment_record &segment = list[i];
    text(segment.file);
    expect(segment.bytes && segment.bytes <= most && segment.offset <= most && segment.position <= most &&
           segment.offset + segment.bytes <= segment.fileBytes && segment.position % page == segment.offset % page &&
           segment.position / page * page >= end && segment.position + segment.bytes <= weightsBytes);
    expect(!segment.hasHeader || (segment.offset == page && segment.fileBytes == page + segment.bytes));
    end = (segment.position + segment.bytes + page - 1) / page * page;
  }
  return {list, place.count};
}

AssetList Reader::assets(perpend_records place) {
  const auto *list = records<perpend_asset_record>(place);
  for (uint32_t i = 0; i < place.count && isGood(); ++i) {
    text(list[i].name);
    expect(list[i].position % PERPEND_ASSET_ALIGNMENT == 0 && list[i].position <= bytes &&
           list[i].bytes <= bytes - list[i].position);
  }
  return {list, place.count};
}

perpend_status Reader::status() const {
  if (failed)
    return fail(PERPEND_CORRUPT,
                "tables: %s: expected the format of perpend_tables.h, got something else in %u bytes; hint: compile "
                "the model again",
                current, bytes);
  return isFull ? fail(PERPEND_OUT_OF_MEMORY, "tables: %s: no memory for what %u bytes declare", current, bytes)
                : PERPEND_OK;
}

} // namespace

perpend_status readTables(const perpend_module &module, bool isCopied, Region &region, Tables &tables) {
  const auto *base = reinterpret_cast<const char *>(module.tables);
  const uint32_t bytes = module.tablesBytes;
  if (bytes < sizeof(perpend_tables) || reinterpret_cast<uintptr_t>(base) % alignof(int64_t) || base[bytes - 1])
    return fail(PERPEND_CORRUPT,
                "tables: expected at least %zu bytes, aligned and with a NUL at the end, got %u; hint: compile the "
                "model again",
                sizeof(perpend_tables), bytes);
  char *copy = isCopied ? region.allocate<char>(bytes) : nullptr;
  if (isCopied && !copy)
    return failAllocation(bytes);
  if (copy)
    base = static_cast<const char *>(memcpy(copy, base, bytes));
  const auto *head = reinterpret_cast<const perpend_tables *>(base);
  Reader reader(base, bytes, region);
  tables.name = reader.in("name").text(head->name);
  tables.target = reader.in("target").optionalText(head->target, "");
  tables.hint = reader.in("hint").optionalText(head->hint, nullptr);
  tables.descriptor = reader.in("descriptor").text(head->descriptor);
  tables.isa = reader.in("isa").names(head->isa);
  tables.kernels = reader.in("kernels").names(head->kernels);
  reader.in("texts").checkTexts(head->texts);
  tables.segments = reader.in("segments").segments(head->segments, module.weightsBytes);
  tables.assets = reader.in("assets").assets(head->assets);
  tables.states = reader.in("states").tensors(head->states);
  reader.records<perpend_state_record>(head->stateFacts);
  reader.in("entries").entries(head->entries, tables);
  tables.head = head;
  tables.process = head->process;
  return reader.status();
}

} // namespace perpend::runtime
