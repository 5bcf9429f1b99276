"""tensorflow.tools.docs.doc_controls: marks for the generator of TensorFlow's pages, which mean nothing here."""


def _unchanged(obj):
    return obj


do_not_generate_docs = do_not_doc_inheritable = do_not_doc_in_subclasses = for_subclass_implementers = _unchanged
doc_private = doc_in_current_and_subclasses = _unchanged


def set_deprecated(obj):
    return obj


def header(text):
    return _unchanged


inheritable_header = header
