"""tensorflow.python.saved_model.save."""

from tandem.inside.checkpoint.graph_view import ObjectGraphView


def save_and_return_nodes(obj, export_dir, signatures=None, options=None, experimental_skip_checkpoint=False):
    """Saves, and returns (the objects of the checkpoint in its order, {object: references on the way to it})."""
    from tandem.saving.saver import save

    save(obj, export_dir, signatures, options)
    return ObjectGraphView(obj).breadth_first_traversal()
