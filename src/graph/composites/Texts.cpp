//===- Texts.cpp - formulas on strings ------------------------------------===//
//
// Creating new strings takes library calls; comparing strings is arithmetic on
// their identities.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/composites/Formulas.h"

#include "library/Regex.h"

using namespace mlir;

namespace perpend::graph {

static bool isText(Value value) { return isa<StringType>(elementTypeOf(value)); }

static bool checkTexts(Builder &b, Values in) {
  if (llvm::all_of(in, isText))
    return true;
  b.fail("expected elements of type string");
  return false;
}

static bool checkPattern(Builder &b, StringRef pattern) {
  library::Regex regex;
  if (regex.compile({pattern.data(), static_cast<int64_t>(pattern.size())}))
    return true;
  b.fail("the pattern '" + pattern + "' is not valid: " + regex.error() + "\nhint: patterns have RE2's syntax");
  return false;
}

static SmallVector<StringRef> textsOf(const Attributes &a, StringRef name) {
  SmallVector<StringRef> texts;
  if (auto list = dyn_cast_or_null<ArrayAttr>(a.get(name)))
    for (StringAttr text : list.getAsRange<StringAttr>())
      texts.push_back(text.getValue());
  return texts;
}

namespace {
struct Normalisation {
  /// "none", "lower" or "upper".
  std::string change;
  /// Whether stop words are compared before the change.
  bool isSensitive;
};
} // namespace

static Value normalized(Builder &b, Value x, ArrayRef<StringRef> stops, const Normalisation &form) {
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  shape.back() = SymbolicInt::poison();
  NamedAttribute parameters[] = {
      b.operations.getNamedAttr("case", b.operations.getStringAttr(form.change)),
      b.operations.getNamedAttr("caseSensitive", b.operations.getI64IntegerAttr(form.isSensitive))};
  return b.callLibrary("string.normalize", {x, b.texts(stops)}, CallResult{shape, elementTypeOf(x)}, parameters)[0];
}

/// The strings [c] or [1, c] that match no stop word in any case; they keep their own case.
static Value withoutStops(Builder &b, Value x, ArrayRef<StringRef> stops) {
  Normalisation lower{"lower", false};
  Shape shape = shapeOf(x);
  SymbolicInt count = shape.back();
  x = b.reshape(x, count);
  // Empty strings would be removed, but are no stop words.
  Value isEmpty = applyComposite(b, "equal", {x, b.texts(StringRef(""), /*isScalar=*/true)})[0];
  Value all = normalized(b, where(b, isEmpty, b.texts(StringRef(" "), /*isScalar=*/true), x), {}, lower);
  Value words = all ? b.unsqueeze(sliceAxis(b, all, 0, SymbolicInt(0), count), {1}) : all;
  Value matches = words ? applyComposite(b, "equal", {words, normalized(b, b.texts(stops), {}, lower)})[0] : words;
  Value isKept =
      matches ? applyComposite(b, "logical_not", b.reduce(ReductionKind::Max, matches, 1, false))[0] : matches;
  Value kept = isKept ? applyComposite(b, "compress", {x, isKept})[0] : isKept;
  if (!kept)
    return {};
  shape.back() = shapeOf(kept).back();
  return b.reshape(kept, shape);
}

namespace composites {
Results string_concat(Builder &b, Values in, const Attributes &) {
  std::optional<Shape> shape = b.broadcastShapes(in);
  if (!shape || !checkTexts(b, in))
    return {};
  Results joined = b.callLibrary("string.concat", {b.broadcastTo(in[0], *shape), b.broadcastTo(in[1], *shape)},
                                 CallResult{*shape, elementTypeOf(in[0])});
  if (joined[0])
    joined[0].getDefiningOp()->setAttr(elementwiseAttribute, b.operations.getUnitAttr());
  return joined;
}

Results string_split(Builder &b, Values in, const Attributes &a) {
  if (!checkTexts(b, in))
    return {};
  Shape shape = shapeOf(in[0]), parts = shape;
  parts.push_back(SymbolicInt::poison());
  auto most = b.operations.getNamedAttr("maxSplits", b.operations.getI64IntegerAttr(a.getInt("maxsplit", -1)));
  return b.callLibrary("string.split", {in[0], b.texts(a.getString("delimiter"), /*isScalar=*/true)},
                       {{parts, elementTypeOf(in[0])}, {shape, b.i64()}}, most);
}

Results string_normalize(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]);
  bool fits = shape.size() == 1 || (shape.size() == 2 && !provablyDiffer(shape[0], SymbolicInt(1)));
  if (!checkTexts(b, in) || !fits)
    return {fits ? Value() : b.contradict("expected a shape [c] or [1, c], got " + toString(shape))};
  if (shape.size() == 2)
    for (const SymbolicInt &difference : {shape[0] - 1, 1 - shape[0]})
      b.require(difference, "expected a shape [c] or [1, c], got " + toString(shape));
  Normalisation form{a.getString("case_change_action", "NONE").lower(), a.getInt("is_case_sensitive") != 0};
  if (form.change != "none" && form.change != "lower" && form.change != "upper")
    return {b.fail("expected case_change_action LOWER, UPPER or NONE, got '" + form.change + "'")};
  SmallVector<StringRef> stops = textsOf(a, "stopwords");
  llvm::erase_if(stops, [](StringRef word) { return word.empty(); }); // empty texts are left out anyway
  if (form.change != "none" || form.isSensitive || stops.empty())
    return {normalized(b, in[0], stops, form)};
  return {normalized(b, withoutStops(b, in[0], stops), {}, form)};
}

Results regex_full_match(Builder &b, Values in, const Attributes &a) {
  StringRef pattern = a.getString("pattern");
  if (!checkTexts(b, in) || !checkPattern(b, pattern))
    return {};
  return b.callLibrary("string.matches", {in[0], b.texts(pattern, /*isScalar=*/true)},
                       CallResult{shapeOf(in[0]), b.operations.getI1Type()});
}
/// Separators take precedence over a token expression; the separator "" makes every character a token.
Results string_tokenize(Builder &b, Values in, const Attributes &a) {
  SmallVector<StringRef> patterns = textsOf(a, "separators");
  bool isByCharacter = patterns.size() == 1 && patterns[0].empty(), separates = !patterns.empty() && !isByCharacter;
  if (!separates)
    patterns = {isByCharacter ? "." : a.getString("tokenexp")};
  int64_t least = a.getInt("mincharnum");
  Shape shape = shapeOf(in[0]);
  if (!checkTexts(b, in) || !llvm::all_of(patterns, [&](StringRef pattern) { return checkPattern(b, pattern); }))
    return {};
  if (shape.empty() || shape.size() > 2)
    return {b.contradict("expected a shape [c] or [n, c], got " + toString(shape))};
  if (least > 1 && isByCharacter)
    return {b.fail("expected a mincharnum of 1 with the separator '', got " + Twine(least))};
  if (least < 1 || (!separates && patterns[0].empty()))
    return {b.fail("expected separators or tokenexp, and mincharnum of at least 1, got " + Twine(least))};
  std::string anyDot = "(?s)" + patterns[0].str(); // in a token's expression, a dot may be the end of a line
  if (!separates)
    patterns = {anyDot};
  shape.push_back(SymbolicInt::poison());
  auto number = [&](StringRef name, int64_t value) {
    return b.operations.getNamedAttr(name, b.operations.getI64IntegerAttr(value));
  };
  NamedAttribute parameters[] = {number("separates", separates), number("leastCharacters", least),
                                 number("marks", a.getInt("mark") != 0)};
  return b.callLibrary("string.tokenize",
                       {in[0], b.texts(patterns), b.texts(a.getString("pad_value"), /*isScalar=*/true)},
                       CallResult{shape, elementTypeOf(in[0])}, parameters);
}
} // namespace composites

//===----------------------------------------------------------------------===//
// TfIdfVectorizer
//===----------------------------------------------------------------------===//

namespace {
/// The n-grams of one length: their items as rows, and for each its position in the result.
struct Grams {
  int64_t length = 0;
  SmallVector<int64_t> rows, targets;
};

class Vectorizer {
public:
  Vectorizer(Builder &b, Value input, const Attributes &a) : b(b), input(input), a(a) {}
  Value run();

private:
  bool readPool();
  Value column(const Grams &grams, int64_t item);
  Value countIn(const Grams &grams, int64_t skip);
  Value spread(Value counts, ArrayRef<int64_t> targets, int64_t size);
  Value weigh(Value counts, int64_t size);

  Builder &b;
  Value input;
  const Attributes &a;
  SmallVector<int64_t> numbers;
  SmallVector<StringRef> words;
  std::vector<Grams> lengths;
};
} // namespace

/// Of equal n-grams in the pool, the last one counts.
bool Vectorizer::readPool() {
  numbers = a.getInts("pool_int64s");
  words = textsOf(a, "pool_strings");
  SmallVector<int64_t> starts = a.getInts("ngram_counts"), targets = a.getInts("ngram_indexes");
  int64_t items = std::max(numbers.size(), words.size()), gram = 0;
  auto sameItem = [&](int64_t i, int64_t j) { return words.empty() ? numbers[i] == numbers[j] : words[i] == words[j]; };
  for (size_t i = 0; i < starts.size(); ++i) {
    Grams grams{static_cast<int64_t>(i) + 1, {}, {}};
    int64_t end = i + 1 < starts.size() ? starts[i + 1] : items;
    if (starts[i] < 0 || end > items || starts[i] > end)
      return b.fail("expected increasing ngram_counts of at most " + Twine(items)), false;
    for (int64_t row = starts[i]; row + grams.length <= end; row += grams.length, ++gram) {
      if (gram >= static_cast<int64_t>(targets.size()))
        return b.fail("expected an entry of ngram_indexes for each n-gram"), false;
      auto isEqual = [&](int64_t other) {
        return llvm::all_of(llvm::seq<int64_t>(0, grams.length),
                            [&](int64_t k) { return sameItem(row + k, other + k); });
      };
      auto *known = llvm::find_if(grams.rows, isEqual);
      if (known != grams.rows.end()) {
        grams.targets[known - grams.rows.begin()] = targets[gram];
        continue;
      }
      grams.rows.push_back(row);
      grams.targets.push_back(targets[gram]);
    }
    lengths.push_back(std::move(grams));
  }
  return true;
}

Value Vectorizer::column(const Grams &grams, int64_t item) {
  SmallVector<int64_t> chosen;
  SmallVector<StringRef> chosenWords;
  for (int64_t row : grams.rows) {
    if (words.empty())
      chosen.push_back(numbers[row + item]);
    else
      chosenWords.push_back(words[row + item]);
  }
  return words.empty() ? b.integers(chosen) : b.texts(chosenWords);
}

/// How often each n-gram occurs with `skip` between its items: [..., grams].
Value Vectorizer::countIn(const Grams &grams, int64_t skip) {
  Shape shape = shapeOf(input);
  SymbolicInt positions = max(shape.back() - SymbolicInt((grams.length - 1) * skip), SymbolicInt(0));
  Value hits;
  for (int64_t item = 0; item < grams.length; ++item) {
    SymbolicInt start = min(SymbolicInt(item * skip), shape.back());
    Value window = sliceAxis(b, input, static_cast<int64_t>(shape.size()) - 1, start, positions);
    Value equal = applyComposite(b, "equal", {b.unsqueeze(window, -1), column(grams, item)})[0];
    hits = hits ? applyComposite(b, "logical_and", {hits, equal})[0] : equal;
  }
  return sum(b, b.cast(hits, b.f32()), static_cast<int64_t>(shape.size()) - 1, /*keepDims=*/false);
}

/// Adds column i of the counts to column targets[i] of the result.
Value Vectorizer::spread(Value counts, ArrayRef<int64_t> targets, int64_t size) {
  int64_t none = static_cast<int64_t>(targets.size()), axis = rankOf(counts) - 1;
  Shape column = shapeOf(counts);
  column.back() = SymbolicInt(1);
  Value padded = b.concat({counts, b.splat(column, 0, b.f32())}, axis), result;
  SmallVector<bool> isDone(targets.size(), false);
  for (bool isComplete = false; !isComplete;) { // each round takes at most one column per target
    SmallVector<int64_t> sources(size, none);
    isComplete = true;
    for (auto [i, target] : llvm::enumerate(targets)) {
      if (isDone[i] || sources[target] != none) {
        isComplete &= isDone[i];
        continue;
      }
      sources[target] = static_cast<int64_t>(i);
      isDone[i] = true;
    }
    Value round = b.gather(padded, b.integers(sources), axis);
    result = result ? add(b, result, round) : round;
  }
  return result;
}

Value Vectorizer::weigh(Value counts, int64_t size) {
  StringRef mode = a.getString("mode", "TF");
  SmallVector<double> given = a.getFloats("weights");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return b.fail("expected mode TF, IDF or TFIDF, got '" + mode + "'");
  SmallVector<float> weights(size, 1);
  for (auto [weight, value] : llvm::zip(weights, given))
    weight = static_cast<float>(value);
  Value factors = b.constant(DenseElementsAttr::get(RankedTensorType::get(size, b.f32()), ArrayRef<float>(weights)));
  if (mode == "TF")
    return counts;
  if (mode == "TFIDF")
    return mul(b, counts, factors);
  Value isThere = applyComposite(b, "greater", {counts, b.scalar(0, b.f32())})[0];
  return where(b, isThere, factors, b.scalar(0, b.f32()));
}

/// Each skip distance is a separate computation, and columns are treated one by one.
static constexpr int64_t mostColumns = int64_t(1) << 24, mostSkips = 64;

Value Vectorizer::run() {
  if (!readPool())
    return {};
  bool isWords = !words.empty();
  if (isWords != isText(input) || rankOf(input) < 1 || rankOf(input) > 2)
    return b.fail("expected a tensor [c] or [n, c] with the element type of the pool");
  input = isWords ? input : b.cast(input, b.i64());
  SmallVector<int64_t> targets, indexes = a.getInts("ngram_indexes");
  int64_t least = a.getInt("min_gram_length", 1), most = a.getInt("max_gram_length", 1),
          skips = a.getInt("max_skip_count");
  int64_t last = indexes.empty() ? -1 : *llvm::max_element(indexes);
  if (last < 0 || llvm::any_of(indexes, [](int64_t index) { return index < 0; }))
    return b.fail("expected ngram_indexes of at least 0");
  if (last >= mostColumns || skips < 0 || skips > mostSkips)
    return b.fail("expected ngram_indexes below " + Twine(mostColumns) + " and a max_skip_count from 0 to " +
                  Twine(mostSkips) + ", got " + Twine(last) + " and " + Twine(skips));
  SmallVector<Value> counts;
  for (const Grams &grams : lengths) {
    if (grams.length < least || grams.length > most || grams.rows.empty())
      continue;
    Value total; // single items do not depend on the distance
    for (int64_t skip = 1; skip <= (grams.length == 1 ? 1 : skips + 1); ++skip) {
      Value count = countIn(grams, skip);
      total = total ? add(b, total, count) : count;
    }
    counts.push_back(total);
    targets.append(grams.targets);
  }
  if (counts.empty() || llvm::is_contained(counts, Value()))
    return counts.empty() ? b.fail("no n-gram of the pool has a length from min_gram_length to max_gram_length")
                          : Value();
  return weigh(spread(b.concat(counts, rankOf(input) - 1), targets, last + 1), last + 1);
}

namespace composites {
Results tfidf(Builder &b, Values in, const Attributes &a) { return {Vectorizer(b, in[0], a).run()}; }
} // namespace composites
} // namespace perpend::graph
