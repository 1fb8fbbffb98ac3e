"""Derives the polynomial coefficients of src/tile/passes/{Math,Double}Functions.cpp, and of erfinv and erfcx in
src/graph/composites/Special.cpp, and prints them as C++ tables.

Method: interpolation of the wanted function, in 60 digits, at the Chebyshev nodes of its interval, which is within a small factor of the minimax
polynomial; where errors weigh differently along the interval, least squares whose weights are adapted. The leading terms that the evaluation keeps exact (the 1 + r of exp, say) are taken out first. The comment of a table gives the
largest error of the polynomial with rounded coefficients, before the rounding errors of its evaluation.
"""

from mpmath import mp, mpf

mp.dps = 60


def to_f32(value):
    return mpf(__import__("numpy").float32(float(value)).item())


def to_f64(value):
    return mpf(float(value))


def interpolate(function, low, high, degree):
    """Coefficients, lowest power first, of the polynomial through `function` at the Chebyshev nodes of [low, high]."""
    count = degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    vandermonde = mp.matrix(count, count)
    for row, node in enumerate(nodes):
        for column in range(count):
            vandermonde[row, column] = node**column
    return mp.lu_solve(vandermonde, mp.matrix([function(node) for node in nodes]))


def fit(function, weight, low, high, degree):
    """As interpolate(), but the largest error times `weight` is small (Lawson 1961)."""
    count, size = degree + 1, 12 * (degree + 1)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * size)) for i in range(size)]
    values, shares = [function(x) for x in nodes], [mpf(1)] * size
    for _ in range(60):
        squares = [share * weight(x) ** 2 for x, share in zip(nodes, shares, strict=True)]
        moments = [sum(s * x**k for x, s in zip(nodes, squares, strict=True)) for k in range(2 * count)]
        sides = [sum(s * v * x**k for x, v, s in zip(nodes, values, squares, strict=True)) for k in range(count)]
        matrix = mp.matrix([[moments[row + column] for column in range(count)] for row in range(count)])
        coefficients = list(mp.lu_solve(matrix, mp.matrix(sides)))
        errors = [abs(mp.polyval(coefficients[::-1], x) - v) * weight(x) for x, v in zip(nodes, values, strict=True)]
        shares = [share * error / max(errors) for share, error in zip(shares, errors, strict=True)]
    return coefficients


def largest_error(function, coefficients, low, high):
    points = [low + (high - low) * (i + mpf(1) / 3) / 500 for i in range(500)]
    return max(abs(mp.polyval(coefficients[::-1], x) / function(x) - 1) for x in points)


def table(name, what, function, low, high, degree, rounded=to_f32):
    low, high = mpf(low), mpf(high)
    coefficients = [rounded(c) for c in interpolate(function, low, high, degree)]
    error = largest_error(function, coefficients, low, high)
    print_table(name, f"{what}; relative error", error, coefficients, 9 if rounded is to_f32 else 17)


def erfc_table():
    """Errors of log2(erfc(x)) matter as far as they are errors of erfc(x)."""

    def slope(x):
        return mp.log(mp.erfc(x), 2) / x

    coefficients = [to_f32(c) for c in fit(slope, lambda x: x * mp.erfc(x) * mp.log(2), mpf(0), mpf(4), 7)]
    points = [mpf(4) * (i + mpf(1) / 3) / 500 for i in range(500)]
    error = max(abs(2 ** (x * mp.polyval(coefficients[::-1], x)) - mp.erfc(x)) for x in points)
    print_table("log2ErfcTerms", "log2(erfc(x)) / x, 0 <= x <= 4; error of erfc(x)", error, coefficients)


def erf_double_tables():
    """Near 0, and of erfc(x) where erf(x) is far from 0: there errors of erfc(x) matter little."""

    def excess(z):
        return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1

    near = [to_f64(c) for c in interpolate(excess, mpf(10) ** -12, mpf(1), 12)]
    points = [(i + mpf(1) / 3) / 500 for i in range(500)]
    error = max(abs(mp.polyval(near[::-1], z) - excess(z)) for z in points)
    print_table("erfDoubleTerms", "erf(x) / x - 1 in x^2, |x| <= 1, for f64; error", error, near, 17)
    low, high = mpf(1), mpf(6)
    logarithm = fit(lambda x: mp.log(mp.erfc(x), 2), lambda x: mp.erfc(x) * mp.log(2), low, high, 17)
    coefficients = [to_f64(c) for c in logarithm]
    points = [low + (high - low) * (i + mpf(1) / 3) / 500 for i in range(500)]
    error = max(abs(2 ** mp.polyval(coefficients[::-1], x) - mp.erfc(x)) for x in points)
    print_table("log2ErfcDoubleTerms", "log2(erfc(x)), 1 <= x <= 6, for f64; error of erfc(x)", error, coefficients, 17)


def scaled_complement(t):
    x = 3 * (1 + t) / (1 - t)
    return mp.exp(x**2) * mp.erfc(x) * (x + mpf(1) / 2)


ERFC_CENTRE = mpf("3.75")


def centred(x):
    return (x - ERFC_CENTRE) / (x + ERFC_CENTRE)


def far_complement(t):
    x = ERFC_CENTRE * (1 + t) / (1 - t)
    return mp.exp(x**2) * mp.erfc(x) * (x + ERFC_CENTRE)


def print_table(name, comment, error, coefficients, digits=9):
    print(f"/// {comment} 2^{mp.nstr(mp.log(error, 2), 3)}.")
    print(f"constexpr double {name}[] = {{" + ", ".join(mp.nstr(c, digits) for c in coefficients) + "};")


def split(name, value, bits):
    """`value` as a sum of numbers of `bits` bits each, and a last one of full precision."""
    rest, parts = value, []
    for count in bits:
        scale = mpf(2) ** (count - 1 - mp.floor(mp.log(abs(rest), 2)))
        parts.append(mp.nint(rest * scale) / scale)
        rest -= parts[-1]
    print(f"constexpr double {name}[] = {{" + ", ".join(mp.nstr(p, 17) for p in parts + [to_f64(rest)]) + "};")


def singles(name, value, count):
    """`value` as a sum of numbers of f32."""
    parts = []
    for _ in range(count):
        parts.append(to_f32(value - sum(parts)))
    print(f"constexpr double {name}[] = {{" + ", ".join(mp.nstr(p, 17) for p in parts) + "};")


def series(function, small):
    """`function` away from 0, and `small` (its limit there) at 0 itself."""
    return lambda x: function(x) if abs(x) > mpf(10) ** -15 else mpf(small)


half_ln2 = mp.log(2) / 2 * mpf("1.001")
f_low, f_high = mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1
quarter_pi_squared = (mp.pi / 4) ** 2 * mpf("1.001")
s_squared = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2

table(
    "expTerms",
    "(exp(r) - 1 - r) / r^2, |r| <= ln(2) / 2",
    series(lambda r: (mp.exp(r) - 1 - r) / r**2, 0.5),
    -half_ln2,
    half_ln2,
    4,
)
table("exp2Terms", "(2^r - 1) / r, |r| <= 1/2", series(lambda r: (2**r - 1) / r, mp.log(2)), -0.5, 0.5, 5)
table(
    "exp2WideTerms",
    "(2^r - 1) / r, |r| <= 1/2, for f64",
    series(lambda r: (2**r - 1) / r, mp.log(2)),
    -0.5,
    0.5,
    7,
    to_f64,
)
table(
    "logTerms",
    "(log(1 + f) - f + f^2/2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2)",
    series(lambda f: (mp.log(1 + f) - f + f**2 / 2) / f**3, mpf(1) / 3),
    f_low,
    f_high,
    8,
)
table(
    "log2WideTerms",
    "log2((1 + s) / (1 - s)) / s in s^2, for f64, (1 + s) / (1 - s) as 1 + f above",
    lambda z: mp.log((1 + mp.sqrt(z)) / (1 - mp.sqrt(z)), 2) / mp.sqrt(z),
    mpf(10) ** -12,
    s_squared,
    5,
    to_f64,
)
table(
    "tanhTerms",
    "(tanh(x) - x) / x^3 in x^2, |x| <= 0.625",
    lambda z: (mp.tanh(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    0.625**2,
    5,
)
table(
    "erfTerms",
    "erf(x) / x - 1 in x^2, |x| <= 0.5",
    lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
    mpf(10) ** -12,
    0.25,
    4,
)
erfc_table()
table(
    "scaledComplementTerms",
    "erfcx(x) (x + 1/2), x >= 0, in powers of (x - 3) / (x + 3)",
    scaled_complement,
    -1,
    1,
    25,
    to_f64,
)
table(
    "sinTerms",
    "(sin(r) - r) / r^3 in r^2, |r| <= pi / 4",
    lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    quarter_pi_squared,
    3,
)
table(
    "cosTerms",
    "(cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi / 4",
    lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
    mpf(10) ** -12,
    quarter_pi_squared,
    3,
)
table(
    "asinTerms",
    "(asin(x) - x) / x^3 in x^2, |x| <= 0.5",
    lambda z: (mp.asin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    0.25,
    5,
)
table(
    "sinhTerms",
    "(sinh(x) - x) / x^3 in x^2, |x| <= 1",
    lambda z: (mp.sinh(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    1,
    3,
)
table(
    "atanTerms",
    "(atan(t) - t) / t^3 in t^2, |t| <= 1",
    lambda z: (mp.atan(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    1,
    9,
)
for size, degree, rounded in (("", 8, to_f64), ("Single", 4, to_f32)):
    table(
        f"erfNear{size}Terms",
        "erf(x) / x in x^2, |x| <= 1/2",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z),
        mpf(10) ** -12,
        0.25,
        degree,
        rounded,
    )
for size, degree, high, rounded in (("", 19, 28, to_f64), ("Single", 10, "10.2", to_f32)):
    table(
        f"erfc{size}Terms",
        f"erfcx(x) (x + c), 1/2 <= x <= {high}, in powers of (x - c) / (x + c)",
        far_complement,
        centred(mpf("0.5")),
        centred(mpf(high)),
        degree,
        rounded,
    )
for size, degree in (("", 17), ("Single", 10)):
    table(
        f"logGamma{size}Terms",
        "log gamma(2 + z) / z, |z| <= 1/2",
        series(lambda z: mp.loggamma(2 + z) / z, 1 - mp.euler),
        -0.5,
        0.5,
        degree,
        to_f64,
    )
table(
    "sinPiTerms",
    "sin(pi x) / x in x^2, |x| <= 1/2",
    lambda z: mp.sin(mp.pi * mp.sqrt(z)) / mp.sqrt(z),
    mpf(10) ** -12,
    0.25,
    8,
    to_f64,
)
split("ln2Parts", mp.log(2), [12])
split("halfPiParts", mp.pi / 2, [25, 25])
singles("halfPiSingleParts", mp.pi / 2, 3)
singles("log2eParts", 1 / mp.log(2), 2)
singles("log10eParts", 1 / mp.log(10), 2)
split("log10Of2Parts", mp.log(2) / mp.log(10), [12])

# Functions of f64.
table(
    "expDoubleTerms",
    "(exp(r) - 1 - r) / r^2, |r| <= ln(2) / 2, for f64",
    series(lambda r: (mp.exp(r) - 1 - r) / r**2, 0.5),
    -half_ln2,
    half_ln2,
    10,
    to_f64,
)
table(
    "logDoubleTerms",
    "(log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2, for f64, (1 + s) / (1 - s) in [sqrt(1/2), sqrt(2)]",
    lambda z: (mp.log((1 + mp.sqrt(z)) / (1 - mp.sqrt(z))) - 2 * mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    s_squared * mpf("1.001"),
    6,
    to_f64,
)
table(
    "log2DoubleTerms",
    "(log2((1 + s) / (1 - s)) - (2 s + 2/3 s^3) / ln(2)) / s^5 in s^2, for f64, (1 + s) / (1 - s) in [sqrt(1/2), sqrt(2)]",
    lambda z: (
        (mp.log((1 + mp.sqrt(z)) / (1 - mp.sqrt(z)), 2) - (2 * mp.sqrt(z) + 2 * mp.sqrt(z) ** 3 / 3) / mp.log(2))
        / mp.sqrt(z) ** 5
    ),
    mpf(10) ** -12,
    s_squared * mpf("1.001"),
    7,
    to_f64,
)
table(
    "sinDoubleTerms",
    "(sin(r) - r) / r^3 in r^2, |r| <= pi / 4, for f64",
    lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    quarter_pi_squared,
    5,
    to_f64,
)
table(
    "cosDoubleTerms",
    "(cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi / 4, for f64",
    lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
    mpf(10) ** -12,
    quarter_pi_squared,
    5,
    to_f64,
)
table(
    "asinDoubleTerms",
    "(asin(x) - x) / x^3 in x^2, |x| <= 0.5, for f64",
    lambda z: (mp.asin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    0.25,
    12,
    to_f64,
)
table(
    "atanDoubleTerms",
    "(atan(t) - t) / t^3 in t^2, |t| <= tan(pi / 8), for f64",
    lambda z: (mp.atan(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
    mpf(10) ** -12,
    (mp.sqrt(2) - 1) ** 2 * mpf("1.0001"),
    10,
    to_f64,
)
erf_double_tables()
split("ln2DoubleParts", mp.log(2), [32])
split("halfPiDoubleParts", mp.pi / 2, [33, 33, 33])
split("log2eParts", 1 / mp.log(2), [53])
split("log10eParts", 1 / mp.log(10), [53])
split("log10Of2", mp.log(2) / mp.log(10), [32])
split("ln2Sum", mp.log(2), [53])
split("twiceLog2e", 2 / mp.log(2), [53])
split("twoThirdsLog2e", 2 / (3 * mp.log(2)), [53])


def inverse_erf_slope(w):
    y = mp.sqrt(-mp.expm1(-w))
    if w < 30:
        return mp.erfinv(y) / y
    complement = mp.exp(-w) / (1 + y)
    start = mp.sqrt(w - mp.log(w) / 2 - mpf(1) / 2)
    return mp.findroot(lambda x: mp.log(mp.erfc(x)) - mp.log(complement), start) / y


for size, degree, rounded in (("", 23, to_f64), ("Single", 10, to_f32)):
    table(
        f"inverseErf{size}Terms",
        "erfinv(y) / y in w - 3.125, w = -log(1 - y^2) <= 6.25",
        lambda t: inverse_erf_slope(t + mpf("3.125")),
        mpf("-3.1249999"),
        3.125,
        degree,
        rounded,
    )
for name, centre, high, degree, rounded in (
    ("inverseErfFarTerms", "3.25", "0.75", 18, to_f64),
    ("inverseErfFarSingleTerms", "3.25", "0.85", 8, to_f32),
    ("inverseErfFarthestTerms", "5", "1.01", 16, to_f64),
):
    low = (mpf("2.5") if centre == "3.25" else mpf(4)) - mpf(centre)
    table(
        name,
        f"erfinv(y) / y in sqrt(w) - {centre}, {mp.nstr((low + mpf(centre)) ** 2, 4)} <= w <= {mp.nstr((mpf(high) + mpf(centre)) ** 2, 4)}",
        lambda t, centre=centre: inverse_erf_slope((t + mpf(centre)) ** 2),
        low,
        mpf(high),
        degree,
        rounded,
    )
table(
    "inverseErfcTerms",
    "erfinv(y) / y in (r - 13) / (r + 13), r = sqrt(w), 6 <= r <= 27.3",
    lambda t: inverse_erf_slope((13 * (1 + t) / (1 - t)) ** 2),
    (6 - mpf(13)) / (6 + mpf(13)),
    (mpf("27.3") - 13) / (mpf("27.3") + 13),
    25,
    to_f64,
)
