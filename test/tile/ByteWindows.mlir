// Windows of bytes, depthwise: the signs of both operands, and zero points on either side of 0. On this machine and on
// those without its steps, all are the sums of the interpreter.
// RUN: perpend check %s --against interpreter
// RUN: perpend check %s --against interpreter --target x86-64-v3
// RUN: perpend check %s --against interpreter --target x86-64
// RUN: perpend check %s --against interpreter -O0
// RUN: perpend compile %s --target x86-64-v4,+avx512vnni --stop-after lower | FileCheck %s --check-prefix=WORDS
// RUN: perpend compile %s --target x86-64-v4 --stop-after lower | FileCheck %s --check-prefix=PAIRS

// WORDS: vpdpbusd
// PAIRS: pmaddw
func.func @main(%a: tensor<1x13x13x48xui8> {graph.name = "a"}, %b: tensor<1x13x13x48xi8> {graph.name = "b"},
                %u: tensor<3x3x1x48xui8> {graph.name = "u"}, %s: tensor<3x3x1x48xi8> {graph.name = "s"})
    -> (tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>) {
  %au = graph.conv %a, %u strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 48 channels_last
      : (tensor<1x13x13x48xui8>, tensor<3x3x1x48xui8>) -> tensor<1x11x11x48xi32>
  %as = graph.conv %a, %s strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 48 channels_last
      : (tensor<1x13x13x48xui8>, tensor<3x3x1x48xi8>) -> tensor<1x11x11x48xi32>
  %bu = graph.conv %b, %u strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 48 channels_last
      : (tensor<1x13x13x48xi8>, tensor<3x3x1x48xui8>) -> tensor<1x11x11x48xi32>
  %bs = graph.conv %b, %s strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 48 channels_last
      : (tensor<1x13x13x48xi8>, tensor<3x3x1x48xi8>) -> tensor<1x11x11x48xi32>
  %ac = graph.map (%a) : (tensor<1x13x13x48xui8>) -> tensor<1x13x13x48xi16> {
  ^bb0(%e: i8):
    %zero = arith.constant 117 : i16
    %wide = arith.extui %e : i8 to i16
    %d = arith.subi %wide, %zero : i16
    graph.yield %d : i16
  }
  %acs = graph.conv %ac, %s strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 48 channels_last
      : (tensor<1x13x13x48xi16>, tensor<3x3x1x48xi8>) -> tensor<1x11x11x48xi32>
  %bc = graph.map (%b) : (tensor<1x13x13x48xi8>) -> tensor<1x13x13x48xi16> {
  ^bb0(%e: i8):
    %zero = arith.constant -9 : i16
    %wide = arith.extsi %e : i8 to i16
    %d = arith.subi %wide, %zero : i16
    graph.yield %d : i16
  }
  %bcs = graph.conv %bc, %s strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 48 channels_last
      : (tensor<1x13x13x48xi16>, tensor<3x3x1x48xi8>) -> tensor<1x11x11x48xi32>
  return %au, %as, %bu, %bs, %acs, %bcs
      : tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>, tensor<1x11x11x48xi32>
}
