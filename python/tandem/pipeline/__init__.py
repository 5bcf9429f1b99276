"""tf.data: names, the structure of elements and the tracing of users' functions; the pipeline itself is C++.

structure.py takes elements apart, functions.py traces functions of them, base.py iterates, the other modules hold the
methods of tf.data.Dataset by kind.
"""
