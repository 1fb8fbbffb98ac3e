//===- ArrayFiles.cpp - arrays, strings and lists as files ----------------===//
//
// Numbers and strings are .npy files, strings in numpy's fixed-size form with
// four bytes per character. A list is a folder with its elements.
//
//===----------------------------------------------------------------------===//

#include "cli/ArrayFiles.h"

#include "../runtime/Npy.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <cstring>

namespace perpend::cli {

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// Decodes elements of `characters` code points, padded with zeros.
static std::optional<std::vector<std::string>> decodeTexts(const uint8_t *data, int64_t count, int64_t characters) {
  std::vector<std::string> texts;
  if (count == 0)
    return texts; // without data, the number of characters is unlimited
  std::vector<llvm::UTF32> points(static_cast<size_t>(characters));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(points.data(), data + i * characters * 4, static_cast<size_t>(characters) * 4);
    size_t length = points.size();
    while (length && !points[length - 1])
      --length;
    std::string &text = texts.emplace_back();
    text.resize(length * 4);
    const llvm::UTF32 *source = points.data();
    auto *start = reinterpret_cast<llvm::UTF8 *>(text.data()), *target = start;
    if (llvm::ConvertUTF32toUTF8(&source, source + length, &target, start + text.size(), llvm::strictConversion) !=
        llvm::conversionOK)
      return std::nullopt;
    text.resize(static_cast<size_t>(target - start));
  }
  return texts;
}

static std::optional<std::vector<llvm::UTF32>> pointsOf(StringRef text) {
  std::vector<llvm::UTF32> points(text.size());
  auto *source = reinterpret_cast<const llvm::UTF8 *>(text.data());
  llvm::UTF32 *target = points.data();
  if (llvm::ConvertUTF8toUTF32(&source, source + text.size(), &target, points.data() + points.size(),
                               llvm::strictConversion) != llvm::conversionOK)
    return std::nullopt;
  points.resize(static_cast<size_t>(target - points.data()));
  return points;
}

static bool writeTexts(const char *path, const Array &array, runtime::NpyError &error) {
  std::vector<std::vector<llvm::UTF32>> texts;
  size_t longest = 1;
  for (int64_t i = 0; i < array.elementCount(); ++i) {
    auto points = pointsOf(array.text(i));
    if (!points) {
      snprintf(error.message, sizeof error.message, "text %lld is not valid UTF-8, which the file needs",
               static_cast<long long>(i));
      return false;
    }
    longest = std::max(longest, points->size());
    texts.push_back(std::move(*points));
  }
  std::vector<llvm::UTF32> all;
  for (std::vector<llvm::UTF32> &points : texts) {
    points.resize(longest);
    all.insert(all.end(), points.begin(), points.end());
  }
  std::string type = "<U" + std::to_string(longest);
  return runtime::writeNpyAs(path, type.c_str(), array.view(), all.data(), static_cast<int64_t>(all.size() * 4), error);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

static std::string elementPath(StringRef folder, int64_t number, StringRef extension) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, std::to_string(number) + extension.str());
  return path.str().str();
}

/// Checks that the folder contains only the expected entries; others would be forgotten elements.
static bool checkEntries(StringRef folder, int64_t count) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(folder, error), end; entry != end && !error; entry.increment(error)) {
    StringRef stem = llvm::sys::path::stem(entry->path());
    int64_t number = 0;
    if (stem.getAsInteger(10, number) || number < 0 || number >= count)
      return fail("the folder '" + folder + "' has '" + llvm::sys::path::filename(entry->path()) + "', but no " +
                      Twine(count) + ".npy",
                  "a sequence is a folder with 0.npy, 1.npy and so on, and nothing else"),
             false;
  }
  return !error || (fail("cannot read the folder '" + folder + "': " + error.message()), false);
}

static std::optional<Array> readList(StringRef folder) {
  std::vector<Array> elements;
  for (int64_t number = 0;; ++number) {
    std::string path = elementPath(folder, number, ".npy");
    if (!llvm::sys::fs::exists(path))
      path = elementPath(folder, number, "");
    if (!llvm::sys::fs::exists(path))
      break;
    std::optional<Array> element = readArray(path);
    if (!element)
      return std::nullopt;
    elements.push_back(std::move(*element));
  }
  if (!checkEntries(folder, static_cast<int64_t>(elements.size())))
    return std::nullopt;
  return Array::ofList(PERPEND_SEQUENCE, std::move(elements));
}

/// Deletes the elements of a list; keeps files that belong to no list, and the folders with them.
static void removeElements(StringRef folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (llvm::sys::fs::directory_iterator entry(folder, error), end; entry != end && !error; entry.increment(error))
    paths.push_back(entry->path());
  for (StringRef path : paths) {
    StringRef stem = llvm::sys::path::stem(path);
    int64_t number = 0;
    if (stem.getAsInteger(10, number) || number < 0 || stem != std::to_string(number))
      continue;
    bool isFolder = path.ends_with(stem) && llvm::sys::fs::is_directory(path) && !llvm::sys::fs::is_symlink_file(path);
    if (isFolder)
      removeElements(path);
    if (isFolder || llvm::sys::path::extension(path) == ".npy")
      llvm::sys::fs::remove(path); // removes folders only if they are empty
  }
}

/// Uses the permissions that the user's umask allows.
static bool createFolder(StringRef folder) {
  if (std::error_code error =
          llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true, llvm::sys::fs::all_all))
    return fail("cannot create the folder '" + folder + "': " + error.message()), false;
  return true;
}

static bool writeList(StringRef folder, const Array &array) {
  if (!createFolder(folder))
    return false;
  removeElements(folder);
  int64_t number = 0;
  for (const perpend_tensor &element : array.elements())
    if (!writeArray(folder, std::to_string(number++), Array::copyOf(element)))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

/// Some of the errors name the file already.
static void failWith(StringRef path, const runtime::NpyError &error) {
  fail(StringRef(error.message).contains(path) ? Twine(error.message) : path + ": " + error.message);
}

std::optional<Array> readArray(StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return readList(path);
  runtime::NpyArray header;
  runtime::NpyError error;
  uint8_t *data = nullptr;
  if (!runtime::readNpy(path.str().c_str(), header, data, error)) {
    failWith(path, error);
    return std::nullopt;
  }
  Array array{header.type, llvm::SmallVector<int64_t>(ArrayRef(header.shape, header.rank)), nullptr};
  array.bytes = std::shared_ptr<std::byte>(reinterpret_cast<std::byte *>(data), std::free);
  if (!array.isTexts())
    return array;
  auto texts = decodeTexts(data, array.elementCount(), header.elementBytes / 4);
  if (!texts) {
    fail(path + ": a text has a code point that Unicode does not have");
    return std::nullopt;
  }
  return Array::ofTexts(array.shape, std::move(*texts));
}

bool adaptTo(Array &array, const perpend_tensor_info &info, StringRef name) {
  const bool wantsList = info.type == PERPEND_SEQUENCE || info.type == PERPEND_OPTIONAL;
  if (wantsList != array.isList())
    return fail("input '" + name + "': expected " + (wantsList ? "a folder" : "a file") + " for " +
                    perpend_type_name(info.type) + ", got " + (wantsList ? "a file" : "a folder"),
                "a folder with 0.npy, 1.npy and so on is a sequence; an optional value is one with 0.npy or nothing"),
           false;
  if (!wantsList) {
    array.type = runtime::npyTypeFor(array.type, info.type);
    return true;
  }
  std::vector<Array> elements;
  for (const perpend_tensor &element : array.elements()) {
    elements.push_back(Array::copyOf(element));
    if (info.element && !adaptTo(elements.back(), *info.element, name))
      return false;
  }
  array = Array::ofList(info.type, std::move(elements));
  return true;
}

bool writeArray(StringRef directory, StringRef name, const Array &array) {
  std::string stem = name.str();
  std::replace(stem.begin(), stem.end(), '/', '_');
  if (!createFolder(directory))
    return false;
  stem += array.isList() ? "" : ".npy";
  if (stem.empty() || stem == "." || stem == "..")
    stem.assign(std::max<size_t>(stem.size(), 1), '_');
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, stem);
  if (array.isList())
    return writeList(path, array);
  runtime::NpyError error;
  bool isWritten =
      array.isTexts() ? writeTexts(path.c_str(), array, error) : runtime::writeNpy(path.c_str(), array.view(), error);
  return isWritten || (failWith(path, error), false);
}
} // namespace perpend::cli
