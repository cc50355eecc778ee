"""Write src/perdure/embed/minilm.onnx, the local model's graph without its weights.

    python tools/build_graph.py           write it
    python tools/build_graph.py --check   fail if the file is not what this script writes

The graph is all-MiniLM-L6-v2 in the operators that measured fastest on a processor, and as it should run: nothing is
left for onnxruntime to optimise at load. Its tensors are named here and filled in by perdure.embed.weights. `onnx` is
needed only for this.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from perdure.embed.weights import LAYERS, MAX_TOKENS

PATH: Final = Path(__file__).parent.parent / "src" / "perdure" / "embed" / "minilm.onnx"
HIDDEN: Final = 384
WIDE: Final = 1536
HEADS: Final = 12
WORDS: Final = 30522

# The lowest value of GELU is -0.16997: with these two no negative one is ever cut off, and most of the eight bits are
# left for the positive ones.
GELU_ZERO: Final = 24
GELU_DEPTH: Final = 0.17
SIGNED_ZERO: Final = 128

CONTRIB: Final = "com.microsoft"
FLOAT: Final = TensorProto.FLOAT
Shape: TypeAlias = Sequence[int | str]


class Graph:
    """Nodes in order, and the shape of every value.

    Told the shapes, onnxruntime makes a session in 17 ms instead of 44: it plans which values may share memory.
    """

    def __init__(self, *, exact: bool) -> None:
        self.exact = exact
        self.nodes: list[Any] = []
        self.values: list[Any] = []
        self.tensors: dict[str, Any] = {}

    def node(
        self, operator: str, inputs: list[str], shape: Shape, kind: int = FLOAT, domain: str = "", **attributes: Any
    ) -> str:
        return self.split(operator, inputs, [shape], kind, domain, **attributes)[0]

    def split(
        self,
        operator: str,
        inputs: list[str],
        shapes: Sequence[Shape],
        kind: int = FLOAT,
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        names = [f"{operator}{len(self.nodes)}.{number}" for number in range(len(shapes))]
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        self.values += [
            helper.make_tensor_value_info(name, kind, shape) for name, shape in zip(names, shapes, strict=True)
        ]
        return names

    def constant(self, name: str, value: Any) -> str:
        self.tensors[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def weight(self, name: str, shape: Sequence[int], kind: int = FLOAT) -> str:
        """A tensor that is elsewhere. onnxruntime wants a place for it and never looks there."""
        tensor = TensorProto(name=name, dims=shape, data_type=kind, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="perdure.embed.weights")
        self.tensors[name] = tensor
        return name

    def model(self) -> bytes:
        grid = ["texts", "tokens"]
        graph = helper.make_graph(
            self.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info(name, TensorProto.INT32, grid) for name in ("ids", "mask")],
            [helper.make_tensor_value_info("vectors", FLOAT, ["texts", HIDDEN])],
            list(self.tensors.values()),
            value_info=self.values,
        )
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="perdure")
        return model.SerializeToString(deterministic=True)


def build(*, exact: bool = False) -> bytes:
    """The model. `exact` is the same with every tensor in float32: what the int8 one is measured against."""
    graph = Graph(exact=exact)
    grid = graph.node("Shape", ["ids"], [2], TensorProto.INT64)
    wide = graph.constant("hidden", np.array([HIDDEN]))
    folded = graph.node("Concat", [grid, wide], [3], TensorProto.INT64, axis=0)
    hidden = _normalised(graph, _embedded(graph), "start")
    rows = graph.node("Shape", [hidden], [1], TensorProto.INT64, start=0, end=1)
    if not exact:
        for name, zero in (("signed", SIGNED_ZERO), ("gelu", GELU_ZERO)):
            graph.constant(name + ".zero", np.uint8(zero))
            graph.nodes.append(
                helper.make_node(
                    "ConstantOfShape",
                    [rows],
                    [name + ".zeros"],
                    value=numpy_helper.from_array(np.array([zero], dtype=np.uint8)),
                )
            )
            graph.values.append(helper.make_tensor_value_info(name + ".zeros", TensorProto.UINT8, ["rows"]))
    for number in range(LAYERS):
        hidden = _layer(graph, f"layer{number}.", hidden, folded)
    _pool(graph, hidden, folded)
    return graph.model()


def _embedded(graph: Graph) -> str:
    """Word and position of every token, one row each."""
    shape = ["texts", "tokens", HIDDEN]
    if graph.exact:
        words = graph.node("Gather", [graph.weight("words", [WORDS, HIDDEN]), "ids"], shape)
    else:
        table = graph.weight("words", [WORDS, HIDDEN], TensorProto.INT8)
        whole = graph.node("Gather", [table, "ids"], shape, TensorProto.INT8)
        scale = graph.node("Gather", [graph.weight("words.scale", [WORDS, 1]), "ids"], ["texts", "tokens", 1])
        words = graph.node("Mul", [graph.node("Cast", [whole], shape, to=FLOAT), scale], shape)
    length = graph.node("Shape", ["ids"], [1], TensorProto.INT64, start=1, end=2)
    table = graph.weight("positions", [MAX_TOKENS, HIDDEN])
    zero = graph.constant("first", np.array([0]))
    positions = graph.node("Slice", [table, zero, length], ["tokens", HIDDEN])
    return _flat(graph, graph.node("Add", [words, positions], shape))


def _layer(graph: Graph, name: str, hidden: str, folded: str) -> str:
    attended = _attention(graph, name, hidden, folded)
    mixed = _biased(graph, name + "mix", _product(graph, name + "mix", attended, HIDDEN, HIDDEN), HIDDEN)
    hidden = _normalised(graph, graph.node("Add", [mixed, hidden], ["rows", HIDDEN]), name + "mixed")
    widened = _product(graph, name + "widen", hidden, HIDDEN, WIDE, balanced=True)
    bias = graph.weight(name + "widen.bias", [WIDE])
    active = graph.node("BiasGelu", [widened, bias], ["rows", WIDE], domain=CONTRIB)
    narrowed = _biased(graph, name + "narrow", _product(graph, name + "narrow", active, WIDE, HIDDEN), HIDDEN)
    return _normalised(graph, graph.node("Add", [narrowed, hidden], ["rows", HIDDEN]), name + "done")


def _attention(graph: Graph, name: str, hidden: str, folded: str) -> str:
    together = _product(graph, name + "attend", hidden, HIDDEN, 3 * HIDDEN, balanced=True)
    flat, shape = ["rows", HIDDEN], ["texts", "tokens", HIDDEN]
    query, key, value = graph.split("Split", [together], [flat] * 3, axis=1, num_outputs=3)
    query = _biased(graph, name + "attend", query, HIDDEN)
    parts = [graph.node("Reshape", [part, folded], shape) for part in (query, key, value)]
    attended = graph.node("MultiHeadAttention", [*parts, "", "mask"], shape, domain=CONTRIB, num_heads=HEADS)
    return _flat(graph, attended)


def _product(graph: Graph, name: str, value: str, height: int, width: int, *, balanced: bool = False) -> str:
    """Rows times a matrix.

    Each row is rounded to eight bits by its own scale. One scale for the whole tensor, as DynamicQuantizeLinear takes
    it, lets the texts of a batch blur each other: their vectors then differ from those made alone, by cosine 0.98.
    """
    shape = ["rows", width]
    if graph.exact:
        return graph.node("MatMul", [value, graph.weight(name, [height, width])], shape)
    if balanced:
        value = graph.node("Mul", [value, graph.weight("balance", [HIDDEN])], ["rows", height])
    step, zero = _gelu_step(graph, value) if name.endswith("narrow") else _signed_step(graph, value, height)
    steps = graph.node("Reshape", [step, graph.constant("line", np.array([-1]))], ["rows"])
    rounded = graph.node("QuantizeLinear", [value, steps, zero + ".zeros"], ["rows", height], TensorProto.UINT8, axis=0)
    matrix = graph.weight(name, [height, width], TensorProto.INT8)
    scale = graph.weight(name + ".scale", [width])
    one = graph.constant("one", np.float32(1))
    found = graph.node("MatMulIntegerToFloat", [rounded, matrix, one, scale, zero + ".zero"], shape, domain=CONTRIB)
    return graph.node("Mul", [found, step], shape)


def _signed_step(graph: Graph, value: str, width: int) -> tuple[str, str]:
    size = graph.node("Abs", [value], ["rows", width])
    peak = graph.node("ReduceMax", [size, graph.constant("last", np.array([-1]))], ["rows", 1], keepdims=1)
    unit = graph.constant("signed.unit", np.float32(1 / (255 - SIGNED_ZERO)))
    return graph.node("Mul", [peak, unit], ["rows", 1]), "signed"


def _gelu_step(graph: Graph, value: str) -> tuple[str, str]:
    peak = graph.node("ReduceMax", [value, graph.constant("last", np.array([-1]))], ["rows", 1], keepdims=1)
    unit = graph.constant("gelu.unit", np.float32(1 / (255 - GELU_ZERO)))
    least = graph.constant("gelu.least", np.float32(GELU_DEPTH / GELU_ZERO))
    return graph.node("Max", [graph.node("Mul", [peak, unit], ["rows", 1]), least], ["rows", 1]), "gelu"


def _biased(graph: Graph, name: str, value: str, width: int) -> str:
    return graph.node("Add", [value, graph.weight(name + ".bias", [width])], ["rows", width])


def _normalised(graph: Graph, value: str, name: str) -> str:
    # Not SkipLayerNormalization, which would add as well: it takes seven times as long as both.
    gain, shift = (graph.weight(f"{name}.{part}", [HIDDEN]) for part in ("gain", "shift"))
    return graph.node("LayerNormalization", [value, gain, shift], ["rows", HIDDEN], epsilon=1e-12)


def _flat(graph: Graph, value: str) -> str:
    return graph.node("Reshape", [value, graph.constant("flat", np.array([-1, HIDDEN]))], ["rows", HIDDEN])


def _pool(graph: Graph, hidden: str, folded: str) -> None:
    """The mean over a text's own tokens, as a direction: the sum has the same one."""
    middle = graph.constant("middle", np.array([1]))
    chosen = graph.node("Cast", ["mask"], ["texts", "tokens"], to=FLOAT)
    chosen = graph.node("Unsqueeze", [chosen, middle], ["texts", 1, "tokens"])
    texts = graph.node("Reshape", [hidden, folded], ["texts", "tokens", HIDDEN])
    total = graph.node("MatMul", [chosen, texts], ["texts", 1, HIDDEN])
    total = graph.node("Squeeze", [total, middle], ["texts", HIDDEN])
    graph.nodes.append(helper.make_node("LpNormalization", [total], ["vectors"], axis=-1, p=2))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    built = build()
    if parser.parse_args(arguments).check:
        same = PATH.read_bytes() == built
        print(f"{PATH.name} is {'up to date' if same else 'not what this script writes; run it without --check'}")
        return 0 if same else 1
    PATH.write_bytes(built)
    print(f"{PATH.name}: {len(built)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
