//===- ModelReduce.cpp - reductions, layouts and windows of the model ------===//

#include "ModelMachine.h"

namespace perpend::quoin::test {

/// The sum of 16 partial sums, by index mod 16, then of halves.
template <typename F> float treeOf(const std::vector<float> &values, F f) {
  std::vector<float> partial(values.begin(), values.begin() + std::min<size_t>(16, values.size()));
  for (size_t index = 16; index < values.size(); ++index)
    partial[index % 16] = f(partial[index % 16], values[index]);
  for (size_t half = 8; half; half /= 2) {
    for (size_t index = 0; index < half && index + half < partial.size(); ++index)
      partial[index] = f(partial[index], partial[index + half]);
    partial.resize(std::min(partial.size(), half));
  }
  return partial[0];
}

void Machine::scans() {
  bool isFloating = isFloat(in.src0Type);
  each([&](int64_t x, int64_t y, int64_t z) {
    int64_t here = in.axis ? y : x, count = e[in.axis ? 1 : 0], whole = 0;
    float sum = 0;
    bool any = false;
    for (int64_t step = 0; step < count; ++step) { // all elements before, in the scan's order
      int64_t index = in.variant1 ? count - 1 - step : step;
      if (in.variant0 && index == here)
        break;
      uint8_t *from = in.axis ? at(Src0, x, index, z) : at(Src0, index, y, z);
      if (isFloating)
        sum = any ? sum + floatFrom(from, in.src0Type) : floatFrom(from, in.src0Type);
      else
        whole += intFrom(from, in.src0Type);
      any = true;
      if (index == here)
        break;
    }
    isFloating ? floatTo(at(Dst, x, y, z), in.dstType, sum) : intTo(at(Dst, x, y, z), in.dstType, whole);
  });
}

void Machine::reductions() {
  auto plus = [](float a, float b) { return a + b; };
  bool isFloating = isFloat(in.src0Type);
  std::map<std::array<int64_t, 3>, std::pair<std::vector<float>, std::vector<int64_t>>> groups;
  each([&](int64_t x, int64_t y, int64_t z) {
    std::array<int64_t, 3> key = {in.axis == 1 ? x : 0, in.axis == 0 ? y : 0, z};
    auto &[floats, ints] = groups[key];
    uint8_t *from = at(Src0, x, y, z);
    floats.push_back(isFloating ? floatFrom(from, in.src0Type) : float(intFrom(from, in.src0Type)));
    ints.push_back(isFloating ? 0 : intFrom(from, in.src0Type));
  });
  for (auto &[key, group] : groups) {
    auto &[floats, ints] = group;
    uint8_t *to = at(Dst, key[0], key[1], key[2]);
    std::vector<float> squares = floats;
    for (float &value : squares)
      value = value * value;
    int64_t total = 0, best = 0;
    uint32_t product = 1;
    for (int64_t value : ints) {
      total += in.opcode == Opcode::rsumsq ? int64_t(uint32_t(value) * uint32_t(value)) : value;
      product *= uint32_t(value);
    }
    switch (in.opcode) {
    case Opcode::rsum:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, plus)) : intTo(to, in.dstType, total);
      break;
    case Opcode::rsumsq:
      isFloating ? floatTo(to, in.dstType, treeOf(squares, plus)) : intTo(to, in.dstType, total);
      break;
    case Opcode::rprod:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, [](float a, float b) { return a * b; }))
                 : intTo(to, in.dstType, product);
      break;
    case Opcode::rmax:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, most))
                 : intTo(to, in.dstType, *std::max_element(ints.begin(), ints.end()));
      break;
    case Opcode::rmin:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, least))
                 : intTo(to, in.dstType, *std::min_element(ints.begin(), ints.end()));
      break;
    case Opcode::welford: {
      float count = float(floats.size()), mean = treeOf(floats, plus) / count;
      for (size_t index = 0; index < floats.size(); ++index)
        squares[index] = (floats[index] - mean) * (floats[index] - mean);
      floatTo(to, in.dstType, mean);
      floatTo(to + sizeOf(in.dstType), in.dstType, treeOf(squares, plus) / count);
      break;
    }
    default: {
      bool isMax = in.opcode == Opcode::rargmax;
      for (size_t index = 0; index < floats.size(); ++index) {
        bool better = isFloating ? (isMax ? floats[index] > floats[best] : floats[index] < floats[best])
                                 : (isMax ? ints[index] > ints[best] : ints[index] < ints[best]);
        if (better || (isFloating && std::isnan(floats[index]) && !std::isnan(floats[best])))
          best = int64_t(index);
      }
      intTo(to, DType::I32, best);
    }
    }
  }
}

void Machine::pairs() {
  using Pair = std::array<uint32_t, 2>;
  std::vector<Pair> all;
  auto load = [&](unsigned operand, int64_t count) {
    for (int64_t index = 0; index < count; ++index)
      all.push_back({uint32_t(intFrom(raw(operand, 8 * index), DType::I32)),
                     uint32_t(intFrom(raw(operand, 8 * index + 4), DType::I32))});
  };
  load(Src0, e[0]);
  if (in.opcode == Opcode::merge)
    load(Src1, e[1]);
  auto above = [&](const Pair &a, const Pair &b) { // a strictly above b
    if (in.dstType == DType::I32)
      return int32_t(a[0]) > int32_t(b[0]);
    float x = std::bit_cast<float>(a[0]), y = std::bit_cast<float>(b[0]);
    return std::isnan(x) ? !std::isnan(y) : x > y;
  };
  for (size_t index = 1; index < all.size(); ++index) // insertion keeps the order of equal keys
    for (size_t at = index; at > 0 && (in.variant0 ? above(all[at], all[at - 1]) : above(all[at - 1], all[at])); --at)
      std::swap(all[at], all[at - 1]);
  std::memcpy(raw(Dst, 0), all.data(), all.size() * 8);
}

void Machine::layouts() {
  const Window &w = in.window;
  int64_t kept = 0;
  if (in.opcode == Opcode::sortblk || in.opcode == Opcode::merge)
    return pairs();
  if (in.opcode == Opcode::pad)
    for (int64_t z = 0; z < e[2] + w.padTop + w.padBottom; ++z)
      for (int64_t y = 0; y < e[1] + w.padLeft + w.padRight; ++y)
        for (int64_t x = 0; x < e[0]; ++x)
          immediate(at(Dst, x, y, z));
  if (in.opcode == Opcode::im2col || in.opcode == Opcode::col2im) {
    for (int64_t y = 0; y < e[1]; ++y)
      for (int64_t x = 0; x < e[0]; ++x) {
        bool forward = in.opcode == Opcode::im2col;
        uint8_t *pixel = patch(forward ? Src0 : Dst, y, x), *element = at(forward ? Dst : Src0, x, y);
        if (forward)
          pixel ? copy(element, pixel) : immediate(element);
        else if (pixel && isFloat(in.dstType))
          floatTo(pixel, in.dstType, floatFrom(pixel, in.dstType) + floatFrom(element, in.src0Type));
        else if (pixel)
          intTo(pixel, in.dstType, intFrom(pixel, in.dstType) + intFrom(element, in.src0Type));
      }
    return;
  }
  each([&](int64_t x, int64_t y, int64_t z) {
    int64_t index[3] = {x, y, z};
    switch (in.opcode) {
    case Opcode::perm3:
      return copy(at(Dst, index[in.axis % 4], index[in.axis / 4 % 4], index[in.axis / 16 % 4]), at(Src0, x, y, z));
    case Opcode::bcast:
      return copy(at(Dst, x, y, z), byMode(Src0, x, y, z));
    case Opcode::pad:
      return copy(at(Dst, x, y + w.padLeft, z + w.padTop), at(Src0, x, y, z));
    case Opcode::rev:
      index[in.axis] = e[in.axis] - 1 - index[in.axis];
      return copy(at(Dst, index[0], index[1], index[2]), at(Src0, x, y, z));
    case Opcode::iota:
      if (isFloat(in.dstType))
        return floatTo(at(Dst, x, y, z), in.dstType, in.immFloat(0) + in.immFloat(1) * float(index[in.axis]));
      return intTo(at(Dst, x, y, z), in.dstType, int64_t(in.imm[0]) + int64_t(in.imm[1]) * index[in.axis]);
    case Opcode::tri: {
      bool keeps = in.variant0 ? x - y >= int32_t(in.imm[1]) : x - y <= int32_t(in.imm[1]);
      return keeps ? copy(at(Dst, x, y, z), at(Src0, x, y, z)) : immediate(at(Dst, x, y, z));
    }
    default: // compress
      if (*at(Src1, x))
        copy(at(Dst, kept++), at(Src0, x));
    }
  });
  if (in.opcode == Opcode::compress)
    sregs[in.axis] = uint64_t(kept);
}

void Machine::windows() {
  const Window &w = in.window;
  bool isFloating = isFloat(in.src0Type), isMean = in.opcode == Opcode::avgpool;
  auto place = [&](int64_t index, bool isRow) {
    float v = float(index) * in.immFloat(isRow ? 0 : 1) + in.immFloat(isRow ? 2 : 3);
    return std::isnan(v) ? 0.0f : std::min(std::max(v, 0.0f), float((isRow ? w.inputHeight : w.inputWidth) - 1));
  };
  each([&](int64_t c, int64_t x, int64_t y) {
    uint8_t *to = at(Dst, c, x, y);
    if (in.opcode == Opcode::rsz_nn || in.opcode == Opcode::rsz_bl) {
      float fx = place(x, false), fy = place(y, true);
      auto nearest = [&](float v) {
        return int64_t(in.rounding == 0   ? std::floor(v)
                       : in.rounding == 1 ? std::ceil(v)
                       : in.rounding == 2 ? std::ceil(v - 0.5f)
                                          : std::floor(v + 0.5f));
      };
      if (in.opcode == Opcode::rsz_nn)
        return copy(to, at(Src0, c, nearest(fx), nearest(fy)));
      int64_t x0 = int64_t(fx), y0 = int64_t(fy), x1 = std::min<int64_t>(x0 + 1, w.inputWidth - 1),
              y1 = std::min<int64_t>(y0 + 1, w.inputHeight - 1);
      float dx = fx - float(x0), dy = fy - float(y0);
      auto pixel = [&](int64_t px, int64_t py) { return floatFrom(at(Src0, c, px, py), in.src0Type); };
      float top = pixel(x0, y0) * (1 - dx) + pixel(x1, y0) * dx, bottom = pixel(x0, y1) * (1 - dx) + pixel(x1, y1) * dx;
      return floatTo(to, in.dstType, top * (1 - dy) + bottom * dy);
    }
    float sum = 0, best = -infinity;
    int64_t whole = 0, bestInt = lowest(in.src0Type), count = 0, where = 0;
    for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
      for (int64_t kx = 0; kx < w.kernelWidth; ++kx) {
        int64_t py = y * w.strideHeight + ky * w.dilationHeight - w.padTop,
                px = x * w.strideWidth + kx * w.dilationWidth - w.padLeft;
        if (py < 0 || px < 0 || py >= w.inputHeight || px >= w.inputWidth)
          continue;
        uint8_t *from = at(Src0, c, px, py);
        float v = isFloating ? floatFrom(from, in.src0Type) : 0;
        int64_t i = isFloating ? 0 : intFrom(from, in.src0Type);
        if (!count || (isFloating ? v > best || (std::isnan(v) && !std::isnan(best)) : i > bestInt))
          where = py * w.inputWidth + px;
        ++count, sum = sum + v, whole += i, best = most(best, v), bestInt = std::max(bestInt, i);
      }
    if (in.opcode == Opcode::maxpool_idx)
      intTo(raw(Src2, 4 * (c + x * in.stride1[Src2] + y * in.stride2[Src2])), DType::I32, where);
    if (!isMean)
      return isFloating ? floatTo(to, in.dstType, best) : intTo(to, in.dstType, bestInt);
    if (in.variant0)
      count = w.kernelHeight * w.kernelWidth;
    isFloating ? floatTo(to, in.dstType, count ? sum / float(count) : 0)
               : intTo(to, in.dstType, count ? int64_t(even(double(whole) / double(count))) : 0);
  });
}

} // namespace perpend::quoin::test
