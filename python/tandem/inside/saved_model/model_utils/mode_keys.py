"""tensorflow.python.saved_model.model_utils.mode_keys: what a model is run for."""


class KerasModeKeys:
    TRAIN, TEST, PREDICT = "train", "test", "predict"


class EstimatorModeKeys:
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


def is_predict(mode):
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode):
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode):
    return mode == KerasModeKeys.TRAIN
