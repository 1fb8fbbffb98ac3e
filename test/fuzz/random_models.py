"""Random valid ONNX models: graphs of 5 to 30 nodes over the operators that the importer knows."""

import random_arithmetic  # noqa: F401  registers its operators; a seed is the same model as long as their order is
import random_functions  # noqa: F401
import random_images  # noqa: F401
import random_movements  # noqa: F401
import random_quantised  # noqa: F401
import random_selections  # noqa: F401
import random_sequences  # noqa: F401
import random_transformers  # noqa: F401
from random_graph import Graph


def grow(seed):
    """The graph of a random model."""
    graph = Graph(seed)
    wanted = graph.number(5, 30)
    for _ in range(10 * wanted):
        if len(graph.nodes) >= wanted:
            break
        graph.step()
    return graph


def random_model(seed):
    """The model, and its inputs by name."""
    graph = grow(seed)
    return graph.model(), graph.feeds, graph.symbols
