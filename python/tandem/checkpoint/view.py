"""tf.train.CheckpointView: which objects a checkpoint holds, without a program that has them."""

import collections
import collections.abc

from tandem.checkpoint import object_graph
from tandem.checkpoint.reader import load_checkpoint
from tandem.framework.trackable import Trackable, children_of


class ByIdentity(collections.abc.Mapping):
    """A mapping whose keys are objects themselves, equal to nothing else; variables have no hash."""

    def __init__(self):
        self._items = {}

    def _set(self, key, value):
        self._items[id(key)] = (key, value)

    def __getitem__(self, key):
        return self._items[id(key)][1]

    def __iter__(self):
        return (key for key, _ in self._items.values())

    def __len__(self):
        return len(self._items)


class CheckpointView:
    """The objects of a checkpoint by number; the root is number 0."""

    def __init__(self, save_path):
        reader = load_checkpoint(save_path)
        if object_graph.GRAPH_KEY not in reader.get_variable_to_shape_map():
            raise ValueError(
                f"The specified checkpoint \"{save_path}\" does not appear to be object-based (saved with "
                "tf.train.Checkpoint): it holds no graph of objects."
            )
        self._nodes = object_graph.read_nodes(reader)

    @property
    def root(self):
        return 0

    def children(self, node_id):
        """The numbers of an object's children, by name."""
        return dict(self._nodes[node_id].children)

    def descendants(self):
        """Numbers of all objects, breadth first."""
        return list(self._by_path())

    def _by_path(self):
        paths, queue = {0: "root"}, collections.deque([0])
        while queue:
            node = queue.popleft()
            for name, child in self._nodes[node].children.items():
                if child not in paths:
                    paths[child] = f"{paths[node]}.{name}"
                    queue.append(child)
        return paths

    def match(self, obj):
        """Which number of the checkpoint which object under `obj` has: {object: number}."""
        if not isinstance(obj, Trackable):
            raise ValueError(f"Expected a Trackable object, got {obj!r}.")
        matched, queue, seen = ByIdentity(), collections.deque([(obj, 0)]), {id(obj)}
        while queue:
            value, node = queue.popleft()
            if isinstance(value, Trackable):
                matched._set(value, node)
            stored = self._nodes[node].children
            for name, child in children_of(value).items():
                if name in stored and id(child) not in seen:
                    seen.add(id(child))
                    queue.append((child, stored[name]))
        return matched

    def diff(self, obj):
        """(what both have, paths that only `obj` has, paths that only the checkpoint has)."""
        matched, only_mine, queue, seen = ByIdentity(), [], collections.deque([(obj, 0, "root")]), {id(obj)}
        numbers = set()
        while queue:
            value, node, path = queue.popleft()
            if node is None:
                only_mine.append(path)
            else:
                numbers.add(node)
                if isinstance(value, Trackable):
                    matched._set(value, node)
            stored = {} if node is None else self._nodes[node].children
            for name, child in children_of(value).items():
                if id(child) not in seen:
                    seen.add(id(child))
                    queue.append((child, stored.get(name), f"{path}.{name}"))
        only_stored = [path for node, path in self._by_path().items() if node not in numbers]
        return matched, only_mine, only_stored
