// Parses the descriptor: one row per key in keyTable, then the checks that make it safe to use as indices.
#include "Descriptor.h"
#include "Errors.h"
#include "Json.h"
#include "Types.h"
#include <cstdio>
#include <cstring>

namespace perpend::runtime {
namespace {

// Reads at most capacity names; more are an error.
NameList readNames(JsonReader &reader, Region &region, uint64_t capacity) {
  auto **names = region.allocate<const char *>(capacity);
  uint32_t count = 0;
  reader.enter('[');
  while (reader.more(']')) {
    if (!names || count == capacity) {
      reader.fail();
      break;
    }
    names[count++] = reader.string();
  }
  return {names, count};
}

void readShape(JsonReader &reader, Region &region, perpend_tensor_info &info) {
  int64_t dims[PERPEND_MAX_RANK];
  const char *texts[PERPEND_MAX_RANK];
  int32_t rank = 0;
  reader.enter('[');
  for (; reader.more(']') && rank < PERPEND_MAX_RANK; ++rank) {
    if (reader.atString()) {
      dims[rank] = -1;
      texts[rank] = reader.string();
      if (!*texts[rank])
        reader.fail();
      continue;
    }
    dims[rank] = reader.integer();
    char *text = region.allocate<char>(24);
    if (!text || dims[rank] < 0) {
      reader.fail();
      return;
    }
    snprintf(text, 24, "%lld", static_cast<long long>(dims[rank]));
    texts[rank] = text;
  }
  auto *dimsCopy = region.allocate<int64_t>(static_cast<size_t>(rank));
  auto **textsCopy = region.allocate<const char *>(static_cast<size_t>(rank));
  if (!dimsCopy || !textsCopy) {
    reader.fail();
    return;
  }
  memcpy(dimsCopy, dims, static_cast<size_t>(rank) * sizeof *dims);
  memcpy(textsCopy, texts, static_cast<size_t>(rank) * sizeof *texts);
  info.rank = rank;
  info.dims = dimsCopy;
  info.dimTexts = textsCopy;
}

const perpend_tensor_info *readElement(JsonReader &reader, Region &region);

// Returns one bit per dimension.
uint32_t readDimensions(JsonReader &reader) {
  uint32_t dims = 0;
  reader.enter('[');
  while (reader.more(']')) {
    int64_t dim = reader.integer();
    if (dim < 0 || dim >= PERPEND_MAX_RANK)
      reader.fail();
    else
      dims |= 1u << dim;
  }
  return dims;
}

void readTensor(JsonReader &reader, Region &region, perpend_tensor_info &info, uint32_t *repeats, bool isElement) {
  bool hasType = false;
  reader.enter('{');
  while (reader.more('}')) {
    const char *key = reader.key();
    if (!strcmp(key, "name"))
      info.name = reader.string();
    else if (!strcmp(key, "type"))
      hasType = findType(reader.string(), info.type);
    else if (!strcmp(key, "shape"))
      readShape(reader, region, info);
    else if (!strcmp(key, "element"))
      info.element = readElement(reader, region);
    else if (!strcmp(key, "repeats") && repeats)
      *repeats = readDimensions(reader);
    else
      reader.skip();
  }
  if (isElement && !info.dims)
    info.rank = -1;
  if ((!info.name || !info.dims) && !isElement)
    reader.fail();
  if (!hasType)
    reader.fail();
}

// The reader limits nesting.
const perpend_tensor_info *readElement(JsonReader &reader, Region &region) {
  auto *info = region.allocate<perpend_tensor_info>(1);
  if (info)
    readTensor(reader, region, *info, nullptr, true);
  else
    reader.fail();
  return info;
}

TensorList readTensors(JsonReader &reader, Region &region, uint32_t capacity) {
  auto *tensors = region.allocate<perpend_tensor_info>(capacity);
  auto *repeats = region.allocate<uint32_t>(capacity);
  uint32_t count = 0;
  reader.enter('[');
  while (reader.more(']')) {
    if (!tensors || !repeats || count == capacity) {
      reader.fail();
      break;
    }
    readTensor(reader, region, tensors[count], &repeats[count], false);
    ++count;
  }
  return {tensors, count, repeats};
}

uint32_t readChecksum(JsonReader &reader) {
  const char *text = reader.string();
  uint32_t value = 0;
  if (strlen(text) != 8 || strspn(text, "0123456789abcdef") != 8)
    reader.fail();
  for (; *text && !reader.failed(); ++text)
    value = value * 16 + static_cast<uint32_t>(*text <= '9' ? *text - '0' : *text - 'a' + 10);
  return value;
}

struct Parse {
  JsonReader &reader;
  Region &region;
  const perpend_module &module;
  Descriptor &out;
};

struct KeyRow {
  const char *name;
  bool required;
  void (*read)(Parse &parse);
};
constexpr uint64_t maxInstructionSets = 64;

const KeyRow keyTable[] = {
    {"perpend", true, [](Parse &p) { p.out.version = p.reader.string(); }},
    {"abi", true, [](Parse &p) { p.out.abi = p.reader.integer(); }},
    {"name", true, [](Parse &p) { p.out.name = p.reader.string(); }},
    {"target", false, [](Parse &p) { p.out.target = p.reader.string(); }},
    {"precision", false, [](Parse &p) { p.out.precision = p.reader.string(); }},
    {"hint", false, [](Parse &p) { p.out.hint = p.reader.string(); }},
    {"process", false, [](Parse &p) { p.out.process = p.reader.integer(); }},
    {"isa", false, [](Parse &p) { p.out.isa = readNames(p.reader, p.region, maxInstructionSets); }},
    {"symbols", true, [](Parse &p) { p.out.symbols = readNames(p.reader, p.region, p.module.symbolCount); }},
    {"dataSymbols", false, [](Parse &p) { p.out.dataSymbols = readNames(p.reader, p.region, p.module.symbolCount); }},
    {"inputs", true, [](Parse &p) { p.out.inputs = readTensors(p.reader, p.region, p.module.inputCount); }},
    {"outputs", true, [](Parse &p) { p.out.outputs = readTensors(p.reader, p.region, p.module.outputCount); }},
    {"kernels", true, [](Parse &p) { p.out.kernels = readNames(p.reader, p.region, p.module.kernelCount); }},
    {"weightsBytes", true, [](Parse &p) { p.out.weightsBytes = p.reader.integer(); }},
    {"weightsChecksum", false,
     [](Parse &p) {
       p.out.checksum = readChecksum(p.reader);
       p.out.hasChecksum = true;
     }},
};

// Returns the set of keys found, one bit each.
uint32_t readObject(Parse &parse) {
  uint32_t seen = 0;
  parse.reader.enter('{');
  while (parse.reader.more('}')) {
    const char *key = parse.reader.key();
    uint32_t bit = 1;
    const KeyRow *found = nullptr;
    for (const KeyRow &row : keyTable) {
      if (!strcmp(row.name, key)) {
        found = &row;
        break;
      }
      bit <<= 1;
    }
    if (!found)
      parse.reader.skip();
    else if (seen & bit)
      parse.reader.fail();
    else
      found->read(parse);
    seen |= found ? bit : 0;
  }
  parse.reader.finish();
  return seen;
}

perpend_status checkCount(const char *what, uint32_t expected, uint32_t got) {
  if (expected == got)
    return PERPEND_OK;
  return fail(PERPEND_CORRUPT, "descriptor: number of %s: expected %u, got %u; hint: compile the model again", what,
              expected, got);
}

perpend_status checkAgainstModule(const perpend_module &module, const Descriptor &d) {
  if (d.abi != module.abi)
    return fail(PERPEND_CORRUPT, "descriptor: abi: expected %u, got %lld; hint: compile the model again", module.abi,
                static_cast<long long>(d.abi));
  if (d.weightsBytes < 0 || static_cast<uint64_t>(d.weightsBytes) != module.weightsBytes)
    return fail(PERPEND_CORRUPT, "descriptor: weightsBytes: expected %llu, got %lld; hint: compile the model again",
                static_cast<unsigned long long>(module.weightsBytes), static_cast<long long>(d.weightsBytes));
  perpend_status status = checkCount("inputs", module.inputCount, d.inputs.count);
  if (status == PERPEND_OK)
    status = checkCount("outputs", module.outputCount, d.outputs.count);
  if (status == PERPEND_OK)
    status = checkCount("symbols", module.symbolCount, d.symbols.count);
  return status == PERPEND_OK ? checkCount("kernels", module.kernelCount, d.kernels.count) : status;
}

// The index of the symbol that is the extent of a dimension; the number of symbols if it is none.
uint32_t symbolOf(const Descriptor &d, const perpend_tensor_info &info, uint32_t dim) {
  uint32_t symbol = 0;
  const bool isSymbolic = dim < static_cast<uint32_t>(info.rank) && info.dims[dim] < 0;
  while (symbol < d.symbols.count && !(isSymbolic && !strcmp(d.symbols.names[symbol], info.dimTexts[dim])))
    ++symbol;
  return symbol;
}

perpend_status findRepeats(Region &region, Descriptor &d) {
  size_t count = 0;
  for (uint32_t i = 0; i < d.inputs.count; ++i)
    count += static_cast<size_t>(__builtin_popcount(d.inputs.repeats[i]));
  auto *entries = region.allocate<Repeat>(count);
  if (!entries)
    return fail(PERPEND_OUT_OF_MEMORY, "descriptor: no memory for %zu dimensions", count);
  for (uint32_t i = 0; i < d.inputs.count; ++i)
    for (uint32_t dim = 0; dim < PERPEND_MAX_RANK; ++dim) {
      if (!(d.inputs.repeats[i] >> dim & 1))
        continue;
      uint32_t symbol = symbolOf(d, d.inputs.tensors[i], dim);
      if (symbol == d.symbols.count)
        return fail(
            PERPEND_CORRUPT,
            "descriptor: input %u repeats along dimension %u, which is no symbol; hint: compile the model again", i,
            dim);
      entries[d.repeats.count++] = {i, dim, symbol};
    }
  d.repeats.entries = entries;
  return PERPEND_OK;
}

} // namespace

perpend_status parseDescriptor(const perpend_module &module, Region &region, Descriptor &descriptor) {
  uint64_t counts[] = {module.inputCount, module.outputCount, module.symbolCount, module.kernelCount};
  for (uint64_t count : counts) // each entry takes two characters, so short texts cannot request huge tables
    if (count > module.descriptorBytes / 2)
      return fail(PERPEND_CORRUPT, "descriptor: %llu entries cannot be in %llu bytes; hint: compile the model again",
                  static_cast<unsigned long long>(count), static_cast<unsigned long long>(module.descriptorBytes));
  JsonReader reader(module.descriptor, module.descriptorBytes, region);
  Parse parse{reader, region, module, descriptor};
  uint32_t seen = readObject(parse);
  if (reader.failed())
    return fail(PERPEND_CORRUPT,
                "descriptor: expected the format of perpend_module.h, got something else at byte %llu "
                "of %llu; hint: compile the model again",
                static_cast<unsigned long long>(reader.errorOffset()),
                static_cast<unsigned long long>(module.descriptorBytes));
  for (const KeyRow &row : keyTable) {
    if (row.required && !(seen & 1))
      return fail(PERPEND_CORRUPT, "descriptor: expected key \"%s\", got none; hint: compile the model again",
                  row.name);
    seen >>= 1;
  }
  perpend_status status = checkAgainstModule(module, descriptor);
  return status == PERPEND_OK ? findRepeats(region, descriptor) : status;
}

} // namespace perpend::runtime
