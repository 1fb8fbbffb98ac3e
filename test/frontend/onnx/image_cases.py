"""More models of one operator each: images made larger, smaller, cut and sampled."""

from operator_cases import CASES, case, float32, int64, normal

__all__ = ["CASES"]

for mode in ("nearest", "linear", "cubic"):
    for ct in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        for sc in ((2.0, 3.0), (0.6, 1.3)):
            if ct == "align_corners" and sc == (0.6, 1.3):
                continue  # ONNX Runtime rounds the resized extent first, which the standard does not
            case(
                "Resize",
                [normal(1, 2, 5, 6), None, float32(1, 1, *sc)],
                {2: float32(1, 1, *sc)},
                mode=mode,
                coordinate_transformation_mode=ct,
                label=str(sc),
            )
        case(
            "Resize",
            [normal(1, 2, 5, 6), None, None, int64(1, 2, 7, 4)],
            {3: int64(1, 2, 7, 4)},
            mode=mode,
            coordinate_transformation_mode=ct,
            label="sizes",
        )
for nm in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
    for ct in ("half_pixel", "asymmetric", "tf_half_pixel_for_nn"):
        case(
            "Resize",
            [normal(1, 1, 5, 6), None, float32(1, 1, 2, 2)],
            {2: float32(1, 1, 2, 2)},
            mode="nearest",
            nearest_mode=nm,
            coordinate_transformation_mode=ct,
        )
        case(
            "Resize",
            [normal(1, 1, 6, 6), None, float32(1, 1, 0.5, 1.7)],
            {2: float32(1, 1, 0.5, 1.7)},
            mode="nearest",
            nearest_mode=nm,
            coordinate_transformation_mode=ct,
        )
case(
    "Resize",
    [normal(1, 1, 5, 6), None, float32(1, 1, 0.8, 0.8)],
    {2: float32(1, 1, 0.8, 0.8)},
    mode="cubic",
    exclude_outside=1,
    cubic_coeff_a=-0.5,
)
case(
    "Resize",
    [normal(1, 1, 5, 6), float32(0, 0, 0.2, 0.3, 1, 1, 0.7, 1.2), None, int64(1, 1, 4, 5)],
    {1: float32(0, 0, 0.2, 0.3, 1, 1, 0.7, 1.2), 3: int64(1, 1, 4, 5)},
    mode="linear",
    coordinate_transformation_mode="tf_crop_and_resize",
    extrapolation_value=9.0,
)
# Scales, sizes and regions that are known only when the model runs.
for mode in ("nearest", "linear", "cubic"):
    case("Resize", [normal(1, 2, 5, 7), None, float32(1, 1, 0.6, 1.7)], mode=mode, label="run-time scales")
    case("Resize", [normal(1, 2, 5, 7), None, None, int64(1, 2, 3, 9)], mode=mode, label="run-time sizes")
for mode in ("linear", "cubic"):
    for outside in (0, 1):
        case(
            "Resize",
            [normal(1, 2, 11, 7), None, float32(1, 1, 0.3, 0.7)],
            mode=mode,
            antialias=1,
            exclude_outside=outside,
            opset=18,
            label="run-time antialias",
        )
case(
    "Resize",
    [normal(1, 1, 5, 6), float32(0, 0, 0.2, 0.3, 1, 1, 0.7, 1.2), None, int64(1, 1, 4, 5)],
    mode="linear",
    coordinate_transformation_mode="tf_crop_and_resize",
    extrapolation_value=9.0,
    label="run-time region",
)
case("Resize", [normal(1, 1, 5, 6), float32(1, 1, 2, 3)], {1: float32(1, 1, 2, 3)}, opset=10, mode="nearest")
case("Resize", [normal(1, 1, 5, 6), float32(1, 1, 2, 3)], {1: float32(1, 1, 2, 3)}, opset=10, mode="linear")
case("Upsample", [normal(1, 1, 5, 6), float32(1, 1, 2, 3)], {1: float32(1, 1, 2, 3)}, opset=9, mode="nearest")
case("Upsample", [normal(1, 1, 5, 6)], opset=7, mode="linear", scales=[1.0, 1.0, 2.0, 2.0])
for corners in (0, 1):
    places = [normal(2, 3, 5, 4), normal(2, 3, 4, 2) * 1.5]
    case("GridSample", places, opset=16, mode="bicubic", padding_mode="border", align_corners=corners)
case("Resize", [normal(1, 2, 5, 6), None, None, int64(9, 7)], {3: int64(9, 7)}, opset=18, axes=[3, 2], mode="linear")
case(
    "Resize",
    [normal(1, 1, 6, 6), None, float32(1, 1, 0.5, 1.5)],
    {2: float32(1, 1, 0.5, 1.5)},
    opset=19,
    coordinate_transformation_mode="half_pixel_symmetric",
    mode="linear",
)
