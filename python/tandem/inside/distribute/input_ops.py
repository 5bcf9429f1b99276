"""tensorflow.python.distribute.input_ops."""


def auto_shard_dataset(dataset, num_shards, index, num_replicas_in_sync=None):
    """The part of a dataset for one of several workers."""
    return dataset.shard(num_shards, index) if num_shards > 1 else dataset
