"""A graph of ONNX operators, written like formulas. Everything is computed in double precision."""

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Graph", "Output"]

OPSET = 17  # of 2022, which every runtime in use knows
_KINDS = {"i": np.int64, "u": np.int64, "b": np.bool_}  # of constants; all others are doubles


def library() -> Any:
    """onnx, or how to get it."""
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install 'gapfit[onnx]'") from error


class Name(str):
    """Of a tensor in the graph."""


class Output(NamedTuple):
    """A tensor that the graph returns: its name, the type of its numbers, and its columns if it has some."""

    name: Name
    dtype: Any
    columns: int | None = None


class Graph:
    """Nodes are added by calling it: `g("Add", x, 1.0)`. What is no name is a constant."""

    def __init__(self) -> None:
        self.onnx = library()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> Name:
        names = [one if isinstance(one, Name) else self.constant(one) for one in inputs]
        result = Name(f"{operator.lower()}_{len(self.nodes)}")
        self.nodes.append(self.onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def constant(self, value: Any) -> Name:
        """Numbers are double unless they are whole or words."""
        array, name = np.asarray(value), Name(f"constant_{len(self.constants)}")
        if array.dtype.kind in "USO":
            words = [str(word).encode() for word in array.ravel()]
            kind = self.onnx.TensorProto.STRING
            self.constants.append(self.onnx.helper.make_tensor(name, kind, array.shape, words))
        else:
            kind = (
                np.int64 if array.dtype.kind in "iu" else np.bool_ if array.dtype.kind == "b" else np.float64
            )
            array = np.ascontiguousarray(array, kind)
            self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def product(self, X: Name, rows: NDArray[Any]) -> Name:
        """X times each of these rows: (n, k). Factors belong into the rows: onnxruntime would put one that
        follows into the product, in single precision."""
        return self("MatMul", X, np.asarray(rows, np.float64).T)

    def place(self, condition: Name) -> Name:
        """0 or 1."""
        return self("Cast", condition, to=self.onnx.TensorProto.INT64)

    def number(self, condition: Name) -> Name:
        """0.0 or 1.0."""
        return self("Cast", condition, to=self.onnx.TensorProto.DOUBLE)

    def flat(self, column: Name) -> Name:
        """(n, 1) as (n,)."""
        return self("Squeeze", column, np.array([1]))

    def sigmoid(self, f: Name) -> Name:
        """1 / (1 + exp(-f)): the operator of that name loses small probabilities."""
        return self("Div", 1.0, self("Add", self("Exp", self("Neg", f)), 1.0))

    def total(self, table: Name) -> Name:
        """The sum of each row, as a column."""
        return self("ReduceSum", table, np.array([1]), keepdims=1)

    def model(
        self, X: Name, columns: int, given: str, outputs: dict[str, Output], told: dict[str, str]
    ) -> Any:
        """The graph as a whole, checked. `given` is the type of the input, `told` what is said of it."""
        onnx, helper = self.onnx, self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype
        source = helper.make_tensor_value_info("X", kind(np.dtype(given)), [None, columns])
        nodes = [helper.make_node("Cast", ["X"], [X], to=onnx.TensorProto.DOUBLE), *self.nodes]
        results = []
        for name, (inner, dtype, width) in outputs.items():
            nodes.append(helper.make_node("Identity", [inner], [name]))
            word = np.dtype(dtype).kind in "USO"
            tensor = onnx.TensorProto.STRING if word else kind(np.dtype(dtype))
            shape = [None] if width is None else [None, width]
            results.append(helper.make_tensor_value_info(name, tensor, shape))
        graph = helper.make_graph(nodes, "gapfit", [source], results, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(graph, opset_imports=opsets, producer_name="gapfit", ir_version=8)
        helper.set_model_props(made, told)
        onnx.checker.check_model(made, full_check=True)
        return made
