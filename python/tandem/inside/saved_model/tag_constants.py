"""tensorflow.python.saved_model.tag_constants."""

SERVING, TRAINING, GPU, TPU = "serve", "train", "gpu", "tpu"
