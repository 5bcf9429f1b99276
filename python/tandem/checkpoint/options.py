"""tf.train.CheckpointOptions."""


class CheckpointOptions:
    """How a checkpoint is written: at once, or by a thread while the program goes on."""

    def __init__(
        self,
        experimental_io_device=None,
        experimental_enable_async_checkpoint=False,
        experimental_write_callbacks=None,
        enable_async=False,
        experimental_skip_slot_variables=False,
        experimental_sharding_callback=None,
    ):
        for callback in experimental_write_callbacks or ():
            if not callable(callback):
                raise TypeError(f"experimental_write_callbacks holds {callback!r}, which cannot be called.")
        self.experimental_io_device = experimental_io_device
        self.enable_async = enable_async or experimental_enable_async_checkpoint
        self.experimental_enable_async_checkpoint = self.enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_sharding_callback = experimental_sharding_callback
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
