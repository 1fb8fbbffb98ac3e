"""Small models of each kind, as text for onnx.parser, without the head that names the operator set."""

NUMBERS = """numbers (float[n, 6] x, float[6, 9] w) => (float[n, 9] y) {
  p = MatMul (x, w)
  r = Relu (p)
  y = Softmax <axis = 1> (r)
}"""
# Rows of symbolic length are kept in memory that each thread has for itself.
LONG_ROWS = """rows (float[n, m] x) => (float[n, m] y) { y = Softmax <axis = 1> (x) }"""
# The number of iterations, of the columns of NonZero and of the rows that are kept depend on the data.
SIZES_FROM_DATA = """sizes (float[n, 6] x, int64 count, bool[n] mask)
    => (int64[2, k] places, float[m, 6] rows, float[c, n, 6] all) <bool yes = {1}> {
  places = NonZero (x)
  rows = Compress <axis = 0> (x, mask)
  last, all = Loop (count, yes, x) <
    body = body (int64 i, bool go, float[n, 6] h) => (bool again, float[n, 6] next, float[n, 6] out) {
      again = Identity (go)
      next = Tanh (h)
      out = Neg (next)
    }>
}"""
BRANCHES = """branches (float[n] x, bool go, bool[n] mask) => (float[m] y) {
  y = If (go) <
    then_branch = yes () => (float[m] a) { a = Compress <axis = 0> (x, mask) },
    else_branch = no () => (float[m] b) { b = Neg (x) }>
}"""
TEXTS = """texts (string[n] x, int64[n] i) => (string[n] y, string[p] twice) {
  y = Gather (x, i)
  twice = Concat <axis = 0> (x, y)
}"""
LISTS = """lists (seq(float[a, 2]) s, float[n, 2] x, int64 count) => (seq(float[a, 2]) longer, float[c, 2] one)
    <bool yes = {1}, int64 zero = {0}> {
  longer = Loop (count, yes, s) <
    body = body (int64 i, bool go, seq(float[a, 2]) h) => (bool again, seq(float[a, 2]) next) {
      again = Identity (go)
      next = SequenceInsert (h, x)
    }>
  one = SequenceAt (longer, zero)
}"""
LIBRARY_CALLS = """calls (string[n] x) => (string[n] y, bool[n] isNumber, string[n, k] parts, int64[n] counts) {
  y = StringConcat (x, x)
  isNumber = RegexFullMatch <pattern = "[0-9]+"> (x)
  parts, counts = StringSplit <delimiter = " "> (x)
}"""
# Lines along an axis in the middle, there and back, and a window that moves along signals. 74 needs a convolution.
SPECTRA = """spectra (float[n, 74, 4] x) => (float[n, 74, 4, 2] y, float[n, 74, 4, 2] z, float[n, f, 4, 2] frames)
    <int64[4] unsqueezed = {0, 0, 0, 1}, int64[3] signals = {0, -1, 1}, int64 axis = {1}, int64 step = {4},
     float[6] window = {0.5, 1, 2, 2, 1, 0.5}> {
  real = Reshape (x, unsqueezed)
  y = DFT (real, , axis)
  z = DFT <inverse = 1> (y, , axis)
  waves = Reshape (x, signals)
  frames = STFT (waves, step, window)
}"""
