"""tf.DeviceSpec: the parts of a device's name."""



class DeviceSpec:
    """Job, replica, task, kind and number of a device, as far as they are said."""

    __slots__ = ("_job", "_replica", "_task", "_type", "_index")

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self._job = None if job is None else str(job)
        self._replica = None if replica is None else int(replica)
        self._task = None if task is None else int(task)
        self._type = None if device_type is None else str(device_type).upper()
        self._index = None if device_index is None else int(device_index)

    job = property(lambda self: self._job)
    replica = property(lambda self: self._replica)
    task = property(lambda self: self._task)
    device_type = property(lambda self: self._type)
    device_index = property(lambda self: self._index)

    @classmethod
    def from_string(cls, spec):
        """From '/job:worker/task:1/device:GPU:0' or parts of it."""
        parts = {}
        for piece in filter(None, (spec or "").split("/")):
            kind, *rest = piece.split(":")
            if kind in ("job", "replica", "task") and len(rest) == 1:
                parts[kind] = rest[0]
            elif kind == "device" and len(rest) in (1, 2):
                parts["device_type"] = rest[0]
                parts["device_index"] = None if len(rest) == 1 or rest[1] == "*" else rest[1]
            elif kind.upper() in ("CPU", "GPU", "TPU") and len(rest) <= 1:
                if "device_type" in parts:
                    raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
                parts["device_type"] = kind
                parts["device_index"] = None if not rest or rest[0] == "*" else rest[0]
            else:
                raise ValueError(f"Unknown attribute '{kind}' is encountered while parsing the device spec: '{spec}'.")
        return cls(**parts)

    def parse_from_string(self, spec):
        """A new one; specifications do not change."""
        return self.from_string(spec)

    def _values(self):
        return {
            "job": self._job, "replica": self._replica, "task": self._task, "device_type": self._type,
            "device_index": self._index,
        }  # fmt: skip

    def make_merged_spec(self, dev):
        """This one, with what the other says in place of its own."""
        return DeviceSpec(**{k: v if v is not None else self._values()[k] for k, v in dev._values().items()})

    def replace(self, **kwargs):
        """This one with some parts changed."""
        return DeviceSpec(**{**self._values(), **kwargs})

    def to_string(self):
        text = "" if self._job is None else f"/job:{self._job}"
        text += "" if self._replica is None else f"/replica:{self._replica}"
        text += "" if self._task is None else f"/task:{self._task}"
        if self._type is not None:
            text += f"/device:{self._type}:{'*' if self._index is None else self._index}"
        return text

    def __str__(self):
        return repr(self)

    def __repr__(self):
        return f"<DeviceSpec({', '.join(f'{k}={v}' for k, v in self._values().items())})>"

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self._values() == other._values()

    def __hash__(self):
        return hash(self.to_string())
