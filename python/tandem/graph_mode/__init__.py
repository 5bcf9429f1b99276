"""Graph mode: graphs that are built first and run by sessions, as in TensorFlow 1.

graph.py has graphs, their operations and collections; variables.py the variables that live in them; session.py what
runs them; optimizers, savers, losses, metrics and layers are built on those three. Nothing here is loaded before a
program asks for it.
"""
