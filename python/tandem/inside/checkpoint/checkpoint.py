"""tensorflow.python.checkpoint.checkpoint."""

_PROVIDERS = []


def list_objects(root_trackable):
    """All objects that hang on the root, the root first."""
    from tandem.inside.checkpoint.graph_view import ObjectGraphView

    return ObjectGraphView(root_trackable).breadth_first_traversal()[0]


def register_session_provider(session_provider):
    """Notes who gives sessions. There are none to ask for."""
    _PROVIDERS.append(session_provider)


def streaming_restore(status, session=None):
    """Values are restored when the objects are there; objects that come later get theirs then."""
    status.initialize_or_restore(session)
