"""tensorflow.python.platform.gfile, tf.compat.v1.gfile."""

from tandem.framework.gfile import GFile

FastGFile = Open = GFile
