"""tf.distribute: strategies over the devices of one process.

A replica's function is traced once and joined into one graph for all replicas (graph/replicate.h), so a step over
several devices is planned, ordered over lanes and captured like any other. Python holds names and values per replica.
"""
