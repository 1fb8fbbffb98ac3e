"""A chain of so many equal operators, for a test of the time that a pass takes: chain.py conv|contract COUNT"""

import sys

kind, count = sys.argv[1], int(sys.argv[2])
if kind == "conv":
    value, weight = "tensor<1x256x256x32xf32>", "tensor<3x3x32x32xf32>"
    attributes = "strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last"
else:
    value, weight = "tensor<2048x1024xf32>", "tensor<1024x1024xf32>"
    attributes = "batch [] x [] over [1] x [0]"
print(f"func.func @main(%v0: {value}, %w: {weight}) -> {value} {{")
for step in range(count):
    print(f"  %v{step + 1} = graph.{kind} %v{step}, %w {attributes} : ({value}, {weight}) -> {value}")
print(f"  return %v{count} : {value}\n}}")
