"""tf.compat.v1.SummaryMetadata, as far as writers of summaries fill it in."""

from tandem import _core


class _PluginData:
    def __init__(self, plugin_name="", content=b""):
        self.plugin_name = plugin_name
        self.content = content


class SummaryMetadata:
    """By which plugin of TensorBoard a summary is shown."""

    PluginData = _PluginData

    def __init__(self, plugin_data=None, display_name="", summary_description="", data_class=0):
        self.plugin_data = plugin_data or _PluginData()
        self.display_name = display_name
        self.summary_description = summary_description
        self.data_class = data_class

    def SerializeToString(self):  # noqa: N802  (the name that messages have)
        return _core.summary_metadata(
            self.plugin_data.plugin_name, self.plugin_data.content, self.summary_description, self.data_class
        )


def serialized(metadata):
    """The message as bytes, whoever made it."""
    if metadata is None:
        return b""
    return metadata if isinstance(metadata, bytes) else metadata.SerializeToString()
