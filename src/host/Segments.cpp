//===- Segments.cpp - how much memory a host program needs ------------------===//

#include "host/Segments.h"

#include "support/MappedFile.h"
#include "tile/kernel/Buffers.h"

#include "perpend_module.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace perpend::host {

/// Where the next segment may begin.
static int64_t endOf(SegmentOp segment) {
  return static_cast<int64_t>(llvm::alignTo(segment.position() + segment.bytes(), PERPEND_ALIGNMENT));
}

int64_t segmentBytesOf(ModuleOp module) {
  int64_t bytes = 0;
  for (auto segment : module.getOps<SegmentOp>())
    bytes = std::max(bytes, endOf(segment));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Parts of files
//===----------------------------------------------------------------------===//

static constexpr int64_t pageBytes = PERPEND_SEGMENT_PAGE;
static constexpr int64_t leastBytes = 64 << 10;  ///< of a segment that stays in its file: a page fault and a part cost
static constexpr int64_t mostGapBytes = 1 << 20; ///< between segments of one part

/// Segments with bytes, in the order of their positions.
static std::vector<SegmentOp> sortedSegments(ModuleOp module) {
  std::vector<SegmentOp> segments;
  for (auto segment : module.getOps<SegmentOp>())
    if (segment.bytes() > 0)
      segments.push_back(segment);
  llvm::sort(segments, [](SegmentOp a, SegmentOp b) { return a.position() < b.position(); });
  return segments;
}

/// Whether a segment of a file continues a part.
static bool continues(const FilePart &part, SegmentOp segment) {
  const int64_t distance = segment.position() - part.position;
  const auto offset = static_cast<int64_t>(*segment.getFileOffset());
  return *segment.getFile() == part.path && offset - part.offset == distance && distance <= part.bytes + mostGapBytes;
}

std::vector<FilePart> filePartsOf(ModuleOp module) {
  std::vector<FilePart> parts;
  for (SegmentOp segment : sortedSegments(module)) {
    if (!segment.isInFile())
      continue;
    if (parts.empty() || !continues(parts.back(), segment))
      parts.push_back(
          {segment.getFile()->str(), static_cast<int64_t>(*segment.getFileOffset()), 0, segment.position()});
    parts.back().bytes = std::max(parts.back().bytes, segment.position() + segment.bytes() - parts.back().position);
  }
  return parts;
}

static int64_t hashOf(ArrayRef<char> bytes) {
  return static_cast<int64_t>(
      llvm::xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size())));
}

static bool haveSameBytes(SegmentOp a, SegmentOp b) {
  if (a.isInFile() || b.isInFile())
    return a.getFile() == b.getFile() && a.getFileOffset() == b.getFileOffset();
  std::vector<char> first, second;
  return tile::constantBytes(*a.getValue(), first) == tile::constantBytes(*b.getValue(), second);
}

LogicalResult verifySegments(ModuleOp module) {
  SegmentOp previous;
  std::optional<FilePart> part;
  int64_t end = 0; // of all segments so far
  for (SegmentOp segment : sortedSegments(module)) {
    const bool isSame = previous && previous.position() == segment.position() && previous.bytes() == segment.bytes() &&
                        !isa<DenseStringElementsAttr>(segment.getValueAttr()) && haveSameBytes(previous, segment);
    const bool isOfPart = segment.isInFile() && part && continues(*part, segment);
    const bool sharesPage = previous && !isOfPart && (segment.isInFile() || previous.isInFile()) &&
                            segment.position() / pageBytes == (end - 1) / pageBytes;
    if (!isSame && !isOfPart && (segment.position() < end || sharesPage))
      return segment.emitOpError("C3: expected an offset of at least ")
             << (sharesPage ? llvm::alignTo(end, pageBytes) : end) << ", where '" << previous.getSymName()
             << "' ends, got " << segment.position();
    if (segment.isInFile() && !isOfPart)
      part = FilePart{segment.getFile()->str(), static_cast<int64_t>(*segment.getFileOffset()), 0, segment.position()};
    end = std::max(end, segment.position() + segment.bytes());
    if (segment.isInFile())
      part->bytes = end - part->position;
    previous = segment;
  }
  return success();
}

void shareSegments(ModuleOp module) {
  llvm::DenseMap<std::pair<Type, int64_t>, std::vector<SegmentOp>> known; // by type, and the hash of their bytes
  llvm::DenseMap<StringAttr, StringAttr> sharedBy;
  int64_t end = 0;
  for (auto segment : llvm::make_early_inc_range(module.getOps<SegmentOp>())) {
    std::vector<char> storage;
    const bool hasTexts = isa_and_present<DenseStringElementsAttr>(segment.getValueAttr());
    const int64_t hash = hasTexts ? 0 : hashOf(tile::constantBytes(*segment.getValue(), storage));
    std::vector<SegmentOp> &alike = known[{segment.tensor(), hash}];
    auto same = llvm::find_if(alike, [&](SegmentOp other) {
      return other.getValue() == segment.getValue() || (!hasTexts && haveSameBytes(other, segment));
    });
    if (same != alike.end()) {
      sharedBy[segment.getSymNameAttr()] = same->getSymNameAttr();
      segment.erase();
      continue;
    }
    alike.push_back(segment);
    segment.setOffset(end);
    end = endOf(segment);
  }
  module.walk([&](ConstantOp constant) {
    if (StringAttr other = sharedBy.lookup(constant.getSegmentAttr().getAttr()))
      constant.setSegment(other);
  });
  for (auto state : module.getOps<StateOp>())
    if (FlatSymbolRefAttr initially = state.getInitiallyAttr())
      if (StringAttr other = sharedBy.lookup(initially.getAttr()))
        state.setInitiallyAttr(FlatSymbolRefAttr::get(other));
}

/// Makes a segment a part of the file that its bytes are mapped from, if kernels can read them there.
static bool moveToFile(SegmentOp segment) {
  auto resource = dyn_cast_if_present<DenseResourceElementsAttr>(segment.getValueAttr());
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob || segment.bytes() < leastBytes || static_cast<int64_t>(blob->getData().size()) != segment.bytes())
    return false;
  std::optional<support::FilePlace> place = support::placeInFile(blob->getData().data());
  if (!place || place->offset % tile::elementBytes(segment.tensor().getElementType()))
    return false;
  Builder builder(segment.getContext());
  segment.setTypeAttr(TypeAttr::get(segment.tensor()));
  segment.removeValueAttr();
  segment.setFileAttr(builder.getStringAttr(place->path));
  segment.setFileOffsetAttr(builder.getI64IntegerAttr(static_cast<int64_t>(place->offset)));
  segment.setFileBytesAttr(builder.getI64IntegerAttr(segment.bytes()));
  return true;
}

void keepInFiles(ModuleOp module) {
  llvm::DenseSet<StringAttr> firstValues; // of states: read at any time, and not in runs only
  for (auto state : module.getOps<StateOp>())
    if (FlatSymbolRefAttr initially = state.getInitiallyAttr())
      firstValues.insert(initially.getAttr());
  std::vector<SegmentOp> values, files;
  for (auto segment : module.getOps<SegmentOp>())
    (!firstValues.contains(segment.getSymNameAttr()) && moveToFile(segment) ? files : values).push_back(segment);
  int64_t end = 0;
  for (SegmentOp segment : values) {
    segment.setOffset(end);
    end = endOf(segment);
  }
  llvm::sort(files, [](SegmentOp a, SegmentOp b) {
    return std::pair(*a.getFile(), *a.getFileOffset()) < std::pair(*b.getFile(), *b.getFileOffset());
  });
  SegmentOp previous;
  for (SegmentOp segment : files) {
    const auto offset = static_cast<int64_t>(*segment.getFileOffset());
    const int64_t before = previous ? static_cast<int64_t>(*previous.getFileOffset()) : 0;
    const bool isNear =
        previous && *previous.getFile() == *segment.getFile() && offset <= before + previous.bytes() + mostGapBytes;
    segment.setOffset(isNear ? previous.position() + offset - before
                             : static_cast<int64_t>(llvm::alignTo(end, pageBytes)) + offset % pageBytes);
    end = std::max(end, segment.position() + segment.bytes());
    previous = segment;
  }
}

void moveSegments(ModuleOp module, llvm::function_ref<int64_t(int64_t)> offsetOf) {
  for (auto segment : module.getOps<SegmentOp>())
    segment.setOffset(offsetOf(static_cast<int64_t>(segment.getOffset())));
}
} // namespace perpend::host
