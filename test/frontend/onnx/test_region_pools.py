"""MaxRoiPool against ONNX Runtime, and in the types that it has no kernel for against the one in f32."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
perpend = pytest.importorskip("perpend")


def pool(element, bins, scale, opset=17):
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
    pooled ({element}[n,c,h,w] x, {element}[r,5] regions) => ({element}[r,c,a,b] y) {{
      y = MaxRoiPool <pooled_shape = [{bins[0]}, {bins[1]}], spatial_scale = {scale}> (x, regions)
    }}"""
    return onnx.parser.parse_model(text)


def expected(x, regions, bins, scale):
    session = onnxruntime.InferenceSession(pool("float", bins, scale).SerializeToString())
    return session.run(None, {"x": x, "regions": regions})[0]


def regions_of(generator, count, images, extent):
    """Also outside of the image, turned around, of one element, and at halves of elements."""
    regions = np.round(generator.uniform(-3, extent + 5, (count, 5)) * 2) / 2
    regions[:, 0] = generator.integers(0, images, count)
    regions[::5, 3:] = regions[::5, 1:3]
    return regions.astype(np.float32)


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.0625])
@pytest.mark.parametrize("bins", [(1, 1), (2, 3), (7, 7)])
@pytest.mark.parametrize("shape", [(2, 3, 11, 13), (1, 1, 1, 1), (3, 2, 1, 7)])
def test_max_roi_pool(shape, bins, scale):
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape).astype(np.float32)
    regions = regions_of(generator, 30, shape[0], max(shape) / scale)
    compiled = perpend.compile(pool("float", bins, scale))
    np.testing.assert_array_equal(compiled(x, regions), expected(x, regions, bins, scale))
    assert compiled(x, regions[:0]).shape == (0, shape[1], *bins)


@pytest.mark.parametrize(("element", "dtype"), [("float16", np.float16), ("double", np.float64)])
@pytest.mark.parametrize("opset", [1, 22])
def test_types(element, dtype, opset):
    generator = np.random.default_rng(1)
    x = generator.standard_normal((2, 3, 5, 7)).astype(np.float16).astype(np.float32)
    regions = regions_of(generator, 17, 2, 9)
    got = perpend.compile(pool(element, (2, 2), 1.0, opset))(x.astype(dtype), regions.astype(dtype))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.astype(np.float32), expected(x, regions, (2, 2), 1.0))


def test_image_that_is_not_there():
    compiled = perpend.compile(pool("float", (1, 1), 1.0))
    for image in (2, -1):
        with pytest.raises(ValueError, match="a region is of an image that is not there"):
            compiled(np.zeros((2, 1, 3, 3), np.float32), np.array([[image, 0, 0, 1, 1]], np.float32))
