"""tensorflow.python.framework.device_spec."""

from tandem.framework.device_spec import DeviceSpec

DeviceSpecV1 = DeviceSpecV2 = DeviceSpec
