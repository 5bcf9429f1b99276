"""Which objects hang on a root, by what names, and what each of them stores.

The graph of a program is stored in its checkpoint as JSON under the key that TensorFlow uses for its own;
nodes are numbered in the order of a breadth-first walk, and a key is the path to the object.
"""

import collections
import json

from tandem import _core
from tandem.framework.errors import DataLossError
from tandem.framework.trackable import Trackable, children_of, is_container

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
_ATTRIBUTES = ".ATTRIBUTES"


def escape(name):
    """A name as part of a key: '/' separates names there."""
    return name.replace(".", "..").replace("/", ".S")


def attribute_key(path, attribute):
    return "/".join([*(escape(name) for name in path), _ATTRIBUTES, escape(attribute)])


def is_saveable(value):
    """Can the value be part of a checkpoint: an object that is tracked, or a collection of such?"""
    return isinstance(value, Trackable) or is_container(value)


def stored_object(obj):
    """What a node is: a Checkpoint stands for the root it was given."""
    root = obj._checkpointed_root if hasattr(type(obj), "_checkpointed_root") else None
    return obj if root is None else stored_object(root)


def values_of(obj):
    """What an object itself stores, by attribute name: tensors or variables."""
    serialize = getattr(stored_object(obj), "_serialize_to_tensors", None)
    if serialize is None:
        return {}
    try:
        return dict(serialize())
    except NotImplementedError:
        return {}


class Node:
    """An object of the program with its place in the graph."""

    __slots__ = ("number", "object", "path", "children")

    def __init__(self, number, obj, path):
        self.number = number
        self.object = obj
        self.path = path
        self.children = {}


def walk(root):
    """The nodes reachable from root, breadth first; each object once, under its shortest path."""
    nodes = [Node(0, root, ())]
    by_object = {id(root): nodes[0], id(stored_object(root)): nodes[0]}
    queue = collections.deque(nodes)
    while queue:
        node = queue.popleft()
        for name, child in children_of(node.object).items():
            found = by_object.get(id(child))
            if found is None:
                found = Node(len(nodes), child, (*node.path, name))
                by_object[id(child)] = found
                nodes.append(found)
                queue.append(found)
            node.children[name] = found.number
    return nodes


def gather(root):
    """(nodes, keys[number][attribute] of a checkpoint, names, values): everything that hangs on the root, and the graph
    itself."""
    nodes = walk(root)
    keys, names, values = {}, [], []
    for node in nodes:
        for attribute, value in values_of(node.object).items():
            key = attribute_key(node.path, attribute)
            keys.setdefault(node.number, {})[attribute] = key
            names.append(key)
            values.append(value.read_value() if hasattr(value, "read_value") else _core.convert_to_tensor(value))
    names.append(GRAPH_KEY)
    values.append(_core.convert_to_tensor(to_json(nodes, keys).encode()))
    return nodes, keys, names, values


def to_json(nodes, keys):
    """The stored form; keys[number] maps attribute names of a node to keys of the checkpoint."""
    rows = []
    for node in nodes:
        row = {"children": node.children}
        if keys.get(node.number):
            row["values"] = keys[node.number]
        name = getattr(stored_object(node.object), "_shared_name", None) if keys.get(node.number) else None
        if isinstance(name, str):
            row["name"] = name
        rows.append(row)
    return json.dumps({"nodes": rows}, separators=(",", ":"))


class StoredNode:
    """A node as a checkpoint has it."""

    __slots__ = ("number", "children", "values", "name")

    def __init__(self, number, row, count):
        self.number = number
        self.children = row.get("children", {})
        self.values = row.get("values", {})
        self.name = row.get("name")
        for name, child in self.children.items():
            if type(child) is not int or not 0 <= child < count:
                raise ValueError(f"{name!r} is said to be node {child!r} of {count}")
        for attribute, key in self.values.items():
            if not isinstance(key, str):
                raise TypeError(f"the key of {attribute!r} is {key!r}")


def from_json(text):
    rows = json.loads(text)["nodes"]
    if not rows:
        raise ValueError("it has no nodes")
    return [StoredNode(number, row, len(rows)) for number, row in enumerate(rows)]


def read_nodes(reader):
    """The graph in a checkpoint, which anybody may have written."""
    stored = reader.read(GRAPH_KEY).numpy()
    try:
        return from_json(stored.decode())
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DataLossError(
            None, None, f"{reader.prefix}.index: the graph of objects ({GRAPH_KEY}) is damaged: {error}. Use an earlier "
            "checkpoint."
        ) from None  # fmt: skip
