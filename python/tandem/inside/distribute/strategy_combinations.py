"""tensorflow.python.distribute.strategy_combinations: the strategies that tests of libraries name."""

from tandem import _namespaces
from tandem.inside.distribute.combinations import NamedDistribution


def _mirrored(*devices):
    return lambda: _namespaces.get("distribute.MirroredStrategy")(list(devices))


def _one(device):
    return lambda: _namespaces.get("distribute.OneDeviceStrategy")(device)


def _central(*devices):
    return lambda: _namespaces.get("distribute.experimental.CentralStorageStrategy")(list(devices))


def _none():
    raise NotImplementedError("There is no such strategy in Tandem; the test is skipped.")


_GPUS = ("/gpu:0", "/gpu:1")
default_strategy = NamedDistribution("Default", lambda: _namespaces.get("distribute.get_strategy")())
one_device_strategy = NamedDistribution("OneDeviceCPU", _one("/cpu:0"))
one_device_strategy_gpu = NamedDistribution("OneDeviceGPU", _one("/gpu:0"), required_gpus=1)
mirrored_strategy_with_one_cpu = NamedDistribution("Mirrored1CPU", _mirrored("/cpu:0"))
mirrored_strategy_with_one_gpu = NamedDistribution("Mirrored1GPU", _mirrored("/gpu:0"), required_gpus=1)
mirrored_strategy_with_gpu_and_cpu = NamedDistribution("MirroredCPUAndGPU", _mirrored("/gpu:0", "/cpu:0"), required_gpus=1)
mirrored_strategy_with_two_cpus = NamedDistribution("Mirrored2CPUs", _mirrored("/cpu:0", "/cpu:1"))
mirrored_strategy_with_cpu_1_and_2 = NamedDistribution("Mirrored2CPU", _mirrored("/cpu:1", "/cpu:2"))
mirrored_strategy_with_two_gpus = NamedDistribution("Mirrored2GPUs", _mirrored(*_GPUS), required_gpus=2)
mirrored_strategy_with_two_gpus_no_merge_call = NamedDistribution(
    "Mirrored2GPUsNoMergeCall", _mirrored(*_GPUS), required_gpus=2
)
central_storage_strategy_with_two_gpus = NamedDistribution("CentralStorage2GPUs", _central(*_GPUS), required_gpus=2)
central_storage_strategy_with_gpu_and_cpu = NamedDistribution(
    "CentralStorageCPUAndGPU", _central("/gpu:0", "/cpu:0"), required_gpus=1
)
tpu_strategy = NamedDistribution("TPU", _none, required_tpu=True)
tpu_strategy_one_core = NamedDistribution("TPUOneCore", _none, required_tpu=True)
tpu_strategy_packed_var = NamedDistribution("TPUPackedVar", _none, required_tpu=True)
cloud_tpu_strategy = NamedDistribution("CloudTPU", _none, required_tpu=True)
multi_worker_mirrored_2x1_cpu = NamedDistribution("MultiWorkerMirrored2x1CPU", _none, num_workers=2)
multi_worker_mirrored_2x1_gpu = NamedDistribution("MultiWorkerMirrored2x1GPU", _none, num_workers=2, required_gpus=1)
multi_worker_mirrored_2x1_gpu_noshare = NamedDistribution(
    "MultiWorkerMirrored2x1GPUNoShare", _none, num_workers=2, required_gpus=1
)
multi_worker_mirrored_2x2_gpu = NamedDistribution("MultiWorkerMirrored2x2GPU", _none, num_workers=2, required_gpus=2)
multi_worker_mirrored_2x2_gpu_no_merge_call = NamedDistribution(
    "MultiWorkerMirrored2x2GPUNoMergeCall", _none, num_workers=2, required_gpus=2
)
parameter_server_strategy_1worker_2ps_cpu = NamedDistribution("ParameterServer1Worker2PSCPU", _none, num_ps=2)
parameter_server_strategy_1worker_2ps_1gpu = NamedDistribution("ParameterServer1Worker2PS1GPU", _none, num_ps=2)
parameter_server_strategy_3worker_2ps_cpu = NamedDistribution("ParameterServer3Worker2PSCPU", _none, num_ps=2)
parameter_server_strategy_3worker_2ps_1gpu = NamedDistribution("ParameterServer3Worker2PS1GPU", _none, num_ps=2)
