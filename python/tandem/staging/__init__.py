"""AutoGraph: Python control flow on tensors becomes control flow of the graph.

The package `diastatic-malt` rewrites the source of a function so that `if`, `while`, `for`, `and`, calls and so on are
calls of operators; the operators are here. It is loaded when the first function is converted.
"""
