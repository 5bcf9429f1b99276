"""tensorflow.python.saved_model.revived_types: classes that libraries give back to loaded models. Tandem's loader makes
objects of its own classes and asks none of these."""

_TYPES = {}


class VersionedTypeRegistration:
    def __init__(self, object_factory, version, min_producer_version, min_consumer_version, bad_consumers=None, setter=setattr):
        self.setter, self._factory, self.version = setter, object_factory, version

    def from_proto(self, proto):
        return self._factory(proto)


def register_revived_type(identifier, predicate, versions):
    if identifier in _TYPES:
        raise AssertionError(f"Duplicate registrations for type '{identifier}'")
    _TYPES[identifier] = predicate, list(versions)


def registered_identifiers():
    return _TYPES.keys()


def get_setter(proto):
    return None
