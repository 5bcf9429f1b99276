"""Tables of a graph. Their entries are there when they are made: initializing them is done at once."""

from tandem.graph_mode import graph as graphs, ops
from tandem.graph_mode.collections import GraphKeys, get_collection
from tandem.ops.lookup import StaticHashTable, StaticVocabularyTable  # noqa: F401


def tables_initializer(name="init_all_tables"):
    """An operation after which tables have their entries."""
    if graphs.current() is None:
        return None
    return ops.group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)
