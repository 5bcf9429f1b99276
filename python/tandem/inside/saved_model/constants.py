"""tensorflow.python.saved_model.constants: names of files and folders in TensorFlow's saved models."""

ASSETS_DIRECTORY, ASSETS_KEY = "assets", "saved_model_assets"
EXTRA_ASSETS_DIRECTORY = "assets.extra"
VARIABLES_DIRECTORY, VARIABLES_FILENAME = "variables", "variables"
SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT = "saved_model.pb", "saved_model.pbtxt"
SAVED_MODEL_FILENAME_CPB, SAVED_MODEL_FILENAME_PREFIX = "saved_model.cpb", "saved_model"
SAVED_MODEL_SCHEMA_VERSION = 1
DEBUG_DIRECTORY, DEBUG_INFO_FILENAME_PB = "debug", "saved_model_debug_info.pb"
FINGERPRINT_FILENAME = "fingerprint.pb"
MAIN_OP_KEY, LEGACY_INIT_OP_KEY, TRAIN_OP_KEY = "saved_model_main_op", "legacy_init_op", "saved_model_train_op"
INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY = "__saved_model_init_op", "__saved_model_train_op"
