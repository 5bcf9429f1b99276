"""tensorflow.python.client.device_lib: how much code asks which GPUs are used."""

from tandem import _core

_CPU_MEMORY = 256 << 20  # what TensorFlow says of a CPU


class DeviceAttributes:
    """What is known of a device: the fields of TensorFlow's message."""

    def __init__(self, name, device_type, memory_limit, description, number):
        self.name, self.device_type, self.memory_limit = name, device_type, memory_limit
        self.physical_device_desc, self.incarnation, self.xla_global_id = description, number + 1, -1 if device_type == "CPU" else number

    def __repr__(self):
        lines = [f'name: "{self.name}"', f'device_type: "{self.device_type}"', f"memory_limit: {self.memory_limit}"]
        lines.append(f"incarnation: {self.incarnation}")
        if self.physical_device_desc:
            lines.append(f'physical_device_desc: "{self.physical_device_desc}"')
        return "\n".join(lines) + "\n"


def list_local_devices(session_config=None):
    """The devices of this process, which are opened by asking."""
    details = {kind: _core.config.list_physical_devices(kind) for kind in ("CPU", "GPU")}
    found = []
    for number, device in enumerate(_core.config.list_logical_devices()):
        place = int(device.name.rpartition(":")[2])
        kind, description, memory = device.device_type, "", _CPU_MEMORY
        if kind == "GPU":
            known = details[kind][min(place, len(details[kind]) - 1)]
            about = _core.config.get_device_details(known)
            description = f"device: {place}, name: {about.get('device_name', 'unknown')}"
            if "compute_capability" in about:
                description += ", compute capability: " + ".".join(map(str, about["compute_capability"]))
            memory = int(about.get("memory_size", about.get("memory_limit", 0)) or 0)
        found.append(DeviceAttributes(device.name, kind, memory, description, number))
    return found
