"""Descriptions of saved things: JSON files that anybody may have written. What is wrong with one is a DataLossError
that names the file and the place in it, never an error of Python's."""

import contextlib
import json

from tandem.framework.errors import DataLossError, InvalidArgumentError


def read(path, format_name, version):
    """The object in the file, of that format and version."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode()
        model = json.loads(text)
    except UnicodeDecodeError as error:
        raise DataLossError(None, None, f"{path} is damaged: byte {error.start} is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise DataLossError(
            None, None, f"{path} is damaged at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except (RecursionError, ValueError) as error:
        raise DataLossError(None, None, f"{path} is damaged: {error}") from None
    if not isinstance(model, dict) or model.get("format") != format_name:
        raise DataLossError(None, None, f"{path} is damaged or is no description of the format {format_name}.")
    if model.get("version") != version:
        raise InvalidArgumentError(
            None, None, f"{path} has version {model.get('version')}; this build reads version {version}. Load it with "
            "the version of Tandem that wrote it."
        )  # fmt: skip
    return model


@contextlib.contextmanager
def place(path, name):
    """Errors of reading a part of a description name the file and the part."""
    try:
        yield
    except (ArithmeticError, AttributeError, AssertionError, LookupError, RecursionError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise DataLossError(None, None, f"{path} is damaged at {name}: {what}") from None


def number(value, below=None):
    """A number that counts or points at something."""
    if type(value) is not int or value < 0 or (below is not None and value >= below):
        raise ValueError(f"{value!r} is no number" + (f" below {below}" if below is not None else " from 0 on"))
    return value


def text(value):
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
