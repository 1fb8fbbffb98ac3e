//===- Settings.h - the settings of a model ---------------------*- C++ -*-===//
//
// One view of config.json and of a GGUF file's metadata. A value that is missing, or null, has a default, unless it is
// required; one of the wrong type is an error, and the first error is kept.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_SETTINGS_H
#define PERPEND_FRONTEND_CHECKPOINT_SETTINGS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace perpend::checkpoint {
using llvm::StringRef;

enum class Key {
#define KEY(NAME, CONFIG, GGUF) NAME,
#include "frontend/checkpoint/Keys.def"
};

class Settings {
public:
  /// `architecture`: for GGUF, the start of the names of its keys; empty for config.json.
  Settings(llvm::json::Object values, std::string architecture)
      : values(std::move(values)), architecture(std::move(architecture)) {}

  bool isGguf() const { return !architecture.empty(); }
  /// The name that messages show.
  std::string nameOf(Key key) const;
  /// Null if it is missing or null.
  const llvm::json::Value *find(Key key) const;
  bool has(Key key) const { return find(key); }
  /// Whether config.json says that there is nothing.
  bool isNull(Key key) const;

  /// Numbers of things: 0 to 2^31 - 1.
  std::optional<int64_t> integer(Key key);
  int64_t integer(Key key, int64_t otherwise) { return integer(key).value_or(otherwise); }
  /// At least 1; an error if it is missing.
  int64_t required(Key key);
  std::optional<double> number(Key key);
  double number(Key key, double otherwise) { return number(key).value_or(otherwise); }
  bool flag(Key key, bool otherwise);
  std::string text(Key key, StringRef otherwise = "");
  const llvm::json::Object *object(Key key);
  /// The elements of a list; an error if their number is not `count`. Nullopt if it is missing.
  std::optional<llvm::SmallVector<std::string>> texts(Key key, int64_t count);

  /// Keeps the first error. Always returns false.
  bool fail(const llvm::Twine &message);
  bool hasFailed() const { return !error.empty(); }
  const std::string &message() const { return error; }

private:
  void expect(Key key, StringRef expected);

  llvm::json::Object values;
  std::string architecture, error;
};

/// A JSON value as text for messages, cut after some characters.
std::string shortText(const llvm::json::Value &value);
} // namespace perpend::checkpoint

#endif
