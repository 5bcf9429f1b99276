"""What libraries import from `tensorflow.python.…` besides public names, by TensorFlow's own folders and files.

A file here holds the helpers of the module of that name; everything else in the module comes from the tables
(known_names.py). They are not part of Tandem's interface, and are made for code that was written for TensorFlow.
"""
