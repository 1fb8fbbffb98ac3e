//===- Model.cpp - what tensor instructions mean, in plain loops -----------===//

#include "ModelMachine.h"

namespace perpend::quoin::test {

void Machine::moves() {
  const Window &w = in.window;
  bool isGather = in.opcode == Opcode::ld_gather || in.opcode == Opcode::gather;
  bool isScatter = in.opcode == Opcode::st_scatter || in.opcode == Opcode::scatter;
  if (in.opcode == Opcode::ld_pad2)
    for (int64_t y = 0; y < e[1] + w.padTop + w.padBottom; ++y)
      for (int64_t x = 0; x < e[0] + w.padLeft + w.padRight; ++x)
        immediate(at(Dst, x, y));
  if (in.opcode == Opcode::ld_frac)
    zeroFill(up(e[1], 16) / 16 * (up(e[0] * sizeOf(in.dstType), 32) / 32) * 512);
  each([&](int64_t x, int64_t y, int64_t z) {
    int32_t row = isGather || isScatter ? int32_t(intFrom(raw(Src1, 4 * y), DType::I32)) : 0;
    if (isGather)
      return copy(at(Dst, x, y), at(Src0, x, row));
    if (isScatter)
      return copy(at(Dst, x, row), at(Src0, x, y));
    switch (in.opcode) {
    case Opcode::ld_pad2:
      return copy(at(Dst, x + w.padLeft, y + w.padTop), at(Src0, x, y));
    case Opcode::ld_tr:
    case Opcode::st_tr:
    case Opcode::tr2:
      return copy(at(Dst, y, x, z), at(Src0, x, y, z));
    case Opcode::ld_fill:
      return immediate(at(Dst, x, y, z));
    case Opcode::ld_frac:
      return copy(raw(Dst, fractal(y, x, e[0], sizeOf(in.dstType))), at(Src0, x, y));
    case Opcode::st_frac:
      return copy(at(Dst, x, y), raw(Src0, in.src(0).space == Space::L0C ? tile(y, x, e[0])
                                                                         : fractal(y, x, e[0], sizeOf(in.dstType))));
    case Opcode::st_mask:
      return *at(Src1, x, y) ? copy(at(Dst, x, y), at(Src0, x, y)) : void();
    case Opcode::st_add:
      if (in.dstType == DType::F32)
        return floatTo(at(Dst, x, y, z), DType::F32,
                       floatFrom(at(Dst, x, y, z), DType::F32) + floatFrom(at(Src0, x, y, z), DType::F32));
      return intTo(at(Dst, x, y, z), DType::I32,
                   intFrom(at(Dst, x, y, z), DType::I32) + intFrom(at(Src0, x, y, z), DType::I32));
    default:
      return copy(at(Dst, x, y, z), at(Src0, x, y, z));
    }
  });
}

void Machine::feeds() {
  bool isLeft = in.opcode <= Opcode::fd_a_dq, isTile = in.opcode == Opcode::fd_c || in.opcode == Opcode::fd_bias;
  int64_t rows = isLeft ? e[1] : e[0], k = isLeft ? e[0] : e[1], size = sizeOf(in.dstType);
  if (isTile)
    zeroFill(up(e[1], 16) * up(e[0], 16) * 4);
  else
    zeroFill(up(rows, 16) / 16 * (up(k * size, 32) / 32) * 512);
  if (in.opcode == Opcode::fd_b_frac)
    std::memcpy(raw(Dst, 0), raw(Src0, 0), up(rows, 16) / 16 * (up(k * size, 32) / 32) * 512);
  for (int64_t y = 0; y < e[1]; ++y)
    for (int64_t x = 0; x < e[0]; ++x) {
      uint8_t *to =
          isTile ? raw(Dst, tile(y, x, e[0])) : raw(Dst, isLeft ? fractal(y, x, k, size) : fractal(x, y, k, size));
      uint8_t *from = nullptr;
      if (in.opcode == Opcode::fd_a_im2col) {
        from = patch(Src0, y, x);
        from ? copy(to, from) : immediate(to);
        continue;
      }
      if (in.opcode == Opcode::fd_b_frac)
        continue;
      bool isTransposed = in.opcode == Opcode::fd_a_tr || in.opcode == Opcode::fd_b_tr;
      from = isTransposed ? at(Src0, y, x) : at(Src0, x, in.opcode == Opcode::fd_bias ? 0 : y);
      if (in.opcode == Opcode::fd_a_dq || in.opcode == Opcode::fd_b_dq) {
        float scale = in.mode == Operands::Row ? floatFrom(at(Src1, x), DType::F32) : in.immFloat(0);
        float difference = float(intFrom(from, in.src0Type)) - in.immFloat(1);
        floatTo(to, in.dstType, difference * scale);
      } else if (isTile && isFloat(in.dstType)) {
        floatTo(to, DType::F32, floatFrom(from, in.src0Type));
      } else {
        copy(to, from);
      }
    }
}

void Machine::products() {
  int64_t n = e[0], m = e[1], k = e[2], size = sizeOf(in.src0Type), batches = in.opcode == Opcode::bmm ? in.axis : 1;
  bool isInt = in.dstType == DType::I32, depthwise = in.opcode == Opcode::dwconv;
  bool begins = in.opcode == Opcode::mm || in.opcode == Opcode::mm_mask || in.zero;
  int64_t aBytes = up(m, 16) / 16 * (up(k * size, 32) / 32) * 512,
          bBytes = up(n, 16) / 16 * (up(k * size, 32) / 32) * 512;
  int64_t cBytes = up(m, 16) * up(n, 16) * 4;
  if (begins)
    zeroFill(batches * cBytes);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint8_t *c = raw(Dst, batch * cBytes + tile(i, j, n));
        float sum = floatFrom(c, DType::F32);
        int64_t whole = intFrom(c, DType::I32);
        for (int64_t t = 0; t < k; ++t) {
          uint8_t *a =
              raw(Src0, batch * aBytes + (depthwise ? fractal(i, t * n + j, k * n, size) : fractal(i, t, k, size)));
          uint8_t *b = raw(Src1, batch * bBytes + fractal(j, t, k, size));
          if (!isInt) {
            float term = floatFrom(a, in.src0Type) * floatFrom(b, in.src1Type);
            sum = sum + term;
            continue;
          }
          int64_t za = 0, zb = 0;
          if (in.opcode == Opcode::mm_zp) {
            za = in.variant0 ? intFrom(raw(Src2, 4 * i), DType::I32) : int32_t(in.imm[0]);
            zb = in.variant1 ? intFrom(raw(Src2, 4 * j), DType::I32) : int32_t(in.imm[1]);
          }
          uint32_t left = uint32_t(intFrom(a, in.src0Type) - za), right = uint32_t(intFrom(b, in.src1Type) - zb);
          whole = int32_t(uint32_t(whole) + left * right);
        }
        bool isMasked = in.opcode == Opcode::mm_mask && j > i + int32_t(in.imm[1]);
        if (isInt)
          intTo(c, DType::I32, isMasked ? int32_t(in.imm[0]) : whole);
        else
          floatTo(c, DType::F32, isMasked ? in.immFloat(0) : sum);
      }
}

void Machine::run() {
  switch (in.info().family) {
  case 'A':
  case 'B':
  case 'C':
    return in.opcode == Opcode::ld_cvt || in.opcode == Opcode::st_cvt ? conversions() : moves();
  case 'D':
    return feeds();
  case 'E':
    return products();
  case 'F':
    return unary();
  case 'G':
    return binary();
  case 'H':
    return conversions();
  case 'I':
    return in.opcode == Opcode::cumsum ? scans() : reductions();
  case 'J':
    return in.opcode == Opcode::tr2 || in.opcode == Opcode::gather || in.opcode == Opcode::scatter ? moves()
                                                                                                   : layouts();
  default:
    return windows();
  }
}

float floatFrom(const uint8_t *bytes, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, bytes, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes, 2);
  return type == DType::F16 ? float(std::bit_cast<_Float16>(half)) : std::bit_cast<float>(uint32_t(half) << 16);
}

void execute(const Instruction &instruction, Memories &memories, uint64_t *sregs) {
  Machine(instruction, memories, sregs).run();
}

bool isApproximate(Opcode opcode, Activation activation) {
  constexpr Opcode opcodes[] = {Opcode::rsqrt, Opcode::exp,  Opcode::exp2, Opcode::ln,      Opcode::log2,
                                Opcode::sin,   Opcode::cos,  Opcode::tanh, Opcode::sigmoid, Opcode::erf,
                                Opcode::gelu,  Opcode::silu, Opcode::pow};
  return activation > Activation::Relu6 ||
         std::find(std::begin(opcodes), std::end(opcodes), opcode) != std::end(opcodes);
}

} // namespace perpend::quoin::test
