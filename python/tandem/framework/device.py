"""tf.device and the few functions of tf.config and tf.test that are not native."""

from tandem import _core


def device(device_name):
    """Ops of the block run on this device."""
    if callable(device_name):
        raise RuntimeError("tf.device does not support functions.")
    if device_name is not None and not isinstance(device_name, str):
        named = getattr(device_name, "name", None) or getattr(device_name, "to_string", lambda: None)()
        if not isinstance(named, str):
            raise ValueError(f"Expecting a string device name, got {device_name!r}")
        device_name = named
    return _core.DeviceScope(device_name)


def set_visible_devices(devices, device_type=None):
    if not isinstance(devices, (list, tuple)):
        devices = [devices] if devices else []
    _core.config.set_visible_devices(list(devices), device_type)


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    return bool(_core.config.list_physical_devices("GPU"))


def gpu_device_name():
    devices = _core.config.list_logical_devices("GPU")
    return devices[0].name if devices else ""


def is_built_with_cuda():
    """Whether a CUDA backend may be loaded; it is a plugin, so always."""
    return True


def get_build_info():
    """What the package was built with; CUDA is a plugin, so nothing of it is known here."""
    return {"is_cuda_build": False, "is_rocm_build": False, "cpu_compiler": "g++"}
