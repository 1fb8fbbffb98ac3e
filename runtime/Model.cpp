// Opening a module, with every check that is possible before the first run, and introspection.
#include "Model.h"
#include "Checksum.h"
#include "Errors.h"
#include "Isa.h"
#include "Seal.h"
#include "perpend_process.h"
#include <cstdio>
#include <cstring>
#include <new>

namespace perpend::runtime {

void retain(perpend_model *model) { model->holders.fetch_add(1, std::memory_order_relaxed); }

void release(perpend_model *model) {
  if (model->holders.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  auto unload = model->unload;
  void *handle = model->handle;
  perpend_model *base = model->base;
  if (model->segments && !base)
    model->segmentFunctions->unmap(model->segments);
  model->~perpend_model();
  free(model);
  if (unload)
    unload(handle);
  if (base)
    release(base);
}

static perpend_status checkModule(const perpend_module &module) {
  if (module.magic != PERPEND_MODULE_MAGIC)
    return fail(PERPEND_INCOMPATIBLE,
                "module: magic: expected %016llx, got %016llx; hint: pass what perpend_module_<name>"
                "() returns",
                static_cast<unsigned long long>(PERPEND_MODULE_MAGIC), static_cast<unsigned long long>(module.magic));
  if (module.abi != PERPEND_MODULE_ABI)
    return fail(PERPEND_INCOMPATIBLE,
                "module: ABI version: expected %u, got %u; hint: compile the model with the "
                "compiler of this runtime (%s)",
                PERPEND_MODULE_ABI, module.abi, PERPEND_VERSION);
  if (!module.tables || (!module.weights && !module.segments && module.weightsBytes) || !module.bind || !module.sizes ||
      !module.run)
    return fail(PERPEND_CORRUPT, "module: a required field is missing; hint: compile the model again");
  return PERPEND_OK;
}

/// Names stored consecutively.
struct MachineNames {
  char text[256] = "";
  size_t used = 0;
  void add(const char *name, const char *sign = "") {
    if (used + strlen(name) + 3 < sizeof text)
      used += static_cast<size_t>(snprintf(text + used, sizeof text - used, "%s%s%s", used ? "," : "", sign, name));
  }
};

static perpend_status checkInstructionSets(const Tables &tables) {
  MachineNames missing, refused, without;
  for (uint32_t i = 0; i < tables.isa.count; ++i) {
    const char *name = tables.isa[i];
    if (!hasInstructionSet(name))
      missing.add(name);
    else if (!requestInstructionSet(name)) {
      refused.add(name);
      without.add(name, "-");
    }
  }
  if (missing.used && tables.hint)
    return fail(PERPEND_UNSUPPORTED_CPU, "model '%.60s' needs %s; hint: %s", tables.name, missing.text, tables.hint);
  if (missing.used)
    return fail(
        PERPEND_UNSUPPORTED_CPU,
        "model '%.60s' was compiled for the target %.100s and needs %s, which this machine lacks; hint: compile it for "
        "this machine",
        tables.name, tables.target, missing.text);
  if (refused.used)
    return fail(
        PERPEND_UNSUPPORTED_CPU,
        "model '%.60s' needs %s, which the system does not allow this process; hint: Linux allows it from 5.16 on, "
        "unless a sandbox forbids arch_prctl; or compile it for '%.100s,%s'",
        tables.name, refused.text, tables.target, without.text);
  return PERPEND_OK;
}

static perpend_status checkProcess(const Tables &tables) {
  if (!tables.process || tables.process == static_cast<uint64_t>(perpend_process_number()))
    return PERPEND_OK;
  return fail(PERPEND_INCOMPATIBLE,
              "model '%.60s': its weights are in the memory of the process that compiled it (torch.compile); hint: "
              "perpend.compile(net, example_inputs=...) makes a model with its weights",
              tables.name);
}

static perpend_status verifyWeights(const perpend_model &model) {
  if (model.segments)
    return static_cast<perpend_status>(model.segmentFunctions->verify(model.segments));
  const SegmentList &list = model.tables.segments;
  if (!list.count || !list.records[0].hasChecksum)
    return PERPEND_OK;
  return compareChecksum("weights", list.records[0].checksum,
                         crc32c(model.weights, static_cast<size_t>(list.records[0].bytes)));
}

// Passes on messages of code that another object may have.
static int32_t note(int32_t status, const char *text) { return fail(static_cast<perpend_status>(status), "%s", text); }

static perpend_status mapSegments(const Opening &opening, perpend_model &model) {
  model.weights = model.module->weights;
  if (!model.tables.segments.areFiles())
    return PERPEND_OK;
  model.segmentFunctions = opening.segmentFunctions ? opening.segmentFunctions : model.module->segments;
  if (!model.segmentFunctions)
    return fail(PERPEND_CORRUPT, "model '%.60s': its weights are in files, but it lacks the functions to map them",
                model.tables.name);
  return static_cast<perpend_status>(model.segmentFunctions->map(
      model.module, model.tables.head, opening.path, opening.weightsFolder, note, &model.segments, &model.weights));
}

perpend_status verifyContents(const perpend_model &model) {
  perpend_status status = verifySeal();
  return status == PERPEND_OK ? verifyWeights(model) : status;
}

static perpend_status open(const perpend_module &module, const Opening &opening, perpend_model &model) {
  constexpr uint64_t maxVerifiedBytes = uint64_t{64} << 20; // takes some 10 ms
  model.module = &module;
  perpend_status status = verifySeal();
  if (status == PERPEND_OK)
    status = checkModule(module);
  if (status == PERPEND_OK)
    status = readTables(module, opening.isMapped, model.region, model.tables);
  if (status == PERPEND_OK && model.tables.entryCount > 1 && !module.others)
    status = fail(PERPEND_CORRUPT,
                  "module: expected the functions of %u entries, got those of one; hint: compile the "
                  "model again",
                  model.tables.entryCount);
  if (status == PERPEND_OK)
    status = checkProcess(model.tables);
  if (status == PERPEND_OK)
    status = checkInstructionSets(model.tables);
  if (status == PERPEND_OK)
    status = mapSegments(opening, model);
  if (status == PERPEND_OK && module.weightsBytes <= maxVerifiedBytes)
    status = verifyWeights(model);
  model.code = {module.bind, module.sizes, module.run};
  return status;
}

static perpend_model *allocateModel() {
  void *memory = malloc(sizeof(perpend_model));
  return memory ? new (memory) perpend_model() : nullptr;
}

perpend_status openModel(const perpend_module *module, const Opening &opening, perpend_model **model) {
  if (!module || !model)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_model_from_module: expected a module and a place for the model, got "
                                          "NULL");
  *model = nullptr;
  perpend_model *created = allocateModel();
  if (!created)
    return failAllocation(sizeof(perpend_model));
  perpend_status status = open(*module, opening, *created);
  if (status != PERPEND_OK) {
    release(created);
    return status;
  }
  *model = created;
  return PERPEND_OK;
}

template <typename NameOf>
static perpend_status find(uint32_t count, NameOf nameOf, const char *kind, const char *hint, const char *name,
                           int32_t *index) {
  if (!name || !index)
    return fail(PERPEND_INVALID_ARGUMENT, "find %s: expected a name and an index, got NULL", kind);
  char known[256] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const char *candidate = nameOf(i);
    if (!strcmp(candidate, name)) {
      *index = static_cast<int32_t>(i);
      return PERPEND_OK;
    }
    if (used + strlen(candidate) + 5 < sizeof known)
      used += static_cast<size_t>(snprintf(known + used, sizeof known - used, "%s'%s'", used ? ", " : "", candidate));
  }
  return fail(PERPEND_INVALID_ARGUMENT, "%s: expected one of %s, got '%.60s'; hint: %s", kind, *known ? known : "none",
              name, hint);
}

static perpend_status findTensor(const TensorList &list, const char *kind, const char *hint, const char *name,
                                 int32_t *index) {
  return find(list.count, [&](uint32_t i) { return list.tensors[i].name; }, kind, hint, name, index);
}

static const perpend_tensor_info *at(const TensorList &list, int32_t index) {
  return index >= 0 && static_cast<uint32_t>(index) < list.count ? &list.tensors[index] : nullptr;
}

} // namespace perpend::runtime

using namespace perpend::runtime;

perpend_status perpend_model_from_module(const perpend_module *module, perpend_model **model) {
  return openModel(module, {}, model);
}

perpend_status perpend_model_from_module_with_weights(const perpend_module *module, const char *folder,
                                                      perpend_model **model) {
  Opening opening;
  opening.weightsFolder = folder;
  return openModel(module, opening, model);
}

int32_t perpend_model_entry_count(const perpend_model *model) { return static_cast<int32_t>(model->tables.entryCount); }

const char *perpend_model_entry_name(const perpend_model *model, int32_t index) {
  return index >= 0 && index < perpend_model_entry_count(model) ? model->tables.entries[index].name : nullptr;
}

perpend_status perpend_model_entry(perpend_model *model, const char *name, perpend_model **entry) {
  if (!model || !entry)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_model_entry: expected a model and a place for the entry, got NULL");
  *entry = nullptr;
  int32_t index = 0;
  perpend_status status = find(
      model->tables.entryCount, [&](uint32_t i) { return model->tables.entries[i].name; }, "entry",
      "perpend inspect lists them", name, &index);
  if (status != PERPEND_OK)
    return status;
  perpend_model *created = allocateModel();
  if (!created)
    return failAllocation(sizeof(perpend_model));
  perpend_model *base = model->base ? model->base : model;
  created->module = base->module;
  created->weights = base->weights;
  created->segments = base->segments;
  created->segmentFunctions = base->segmentFunctions;
  created->tables = base->tables;
  created->tables.entry = base->tables.entries[index];
  created->code = index ? base->module->others[index - 1] : base->code;
  created->base = base;
  retain(base);
  *entry = created;
  return PERPEND_OK;
}

void perpend_model_free(perpend_model *model) {
  if (model)
    release(model);
}

perpend_status perpend_model_verify(const perpend_model *model) {
  if (!model)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_model_verify: expected a model, got NULL");
  perpend_status status = checkFile(*model);
  return status == PERPEND_OK ? verifyContents(*model) : status;
}

const char *perpend_model_name(const perpend_model *model) { return model->tables.name; }

const char *perpend_model_descriptor(const perpend_model *model) { return model->tables.descriptor; }

const void *perpend_model_asset(const perpend_model *model, const char *name, int64_t *sizeBytes) {
  const Tables &tables = model->tables;
  const auto *base = reinterpret_cast<const char *>(tables.head);
  for (uint32_t i = 0; name && i < tables.assets.count; ++i) {
    const perpend_asset_record &asset = tables.assets.records[i];
    if (strcmp(base + asset.name, name))
      continue;
    if (sizeBytes)
      *sizeBytes = static_cast<int64_t>(asset.bytes);
    return base + asset.position;
  }
  return nullptr;
}

int32_t perpend_model_input_count(const perpend_model *model) {
  return static_cast<int32_t>(model->tables.entry.inputs.count);
}

int32_t perpend_model_output_count(const perpend_model *model) {
  return static_cast<int32_t>(model->tables.entry.outputs.count);
}

const perpend_tensor_info *perpend_model_input(const perpend_model *model, int32_t index) {
  return at(model->tables.entry.inputs, index);
}

const perpend_tensor_info *perpend_model_output(const perpend_model *model, int32_t index) {
  return at(model->tables.entry.outputs, index);
}

perpend_status perpend_model_find_input(const perpend_model *model, const char *name, int32_t *index) {
  return findTensor(model->tables.entry.inputs, "input", "weights (an ONNX file's initializers) are not inputs", name,
                    index);
}

perpend_status perpend_model_find_output(const perpend_model *model, const char *name, int32_t *index) {
  return findTensor(model->tables.entry.outputs, "output", "perpend inspect lists them", name, index);
}

int32_t perpend_model_kernel_count(const perpend_model *model) {
  return static_cast<int32_t>(model->tables.kernels.count);
}

const char *perpend_model_kernel_name(const perpend_model *model, int32_t index) {
  return index >= 0 && index < perpend_model_kernel_count(model) ? model->tables.kernels[static_cast<uint32_t>(index)]
                                                                 : nullptr;
}
