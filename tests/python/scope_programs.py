"""Random programs of name scopes and variables. `run` gives the names that they make; a program is plain data, so that
TensorFlow's answers are stored beside it (tools/reference/make_scope_reference.py)."""

import random

_NAMES = ["a", "b", "a/", "b/", "a/b", "a/b/", "", "A", "a_1", "x", "x/", "c.d", "a//", "s-t", "a/b/c/"]
_VARIABLES = ["x", "v", None, "x/", "a", "a/x", "a/b/", "v_1"]


def make(seed, depth=3):
    """A list of ("scope", name, list) and ("variable", name)."""
    chance = random.Random(seed)

    def block(level):
        steps = []
        for _ in range(chance.randint(1, 4)):
            if level and chance.random() < 0.6:
                steps.append(["scope", chance.choice(_NAMES), block(level - 1)])
            else:
                steps.append(["variable", chance.choice(_VARIABLES)])
        return steps

    return block(depth)


def run(tf, program):
    """The names of scopes and variables, in order."""
    names = []

    def block(steps, made):
        for step in steps:
            if step[0] == "variable":
                made.append(tf.Variable(1.0, name=step[1]))
                names.append(made[-1].name)
                continue
            with tf.name_scope(step[1]) as scope:
                names.append(scope)
                block(step[2], made)

    block(program, [])
    return names


def run_in_function(tf, program, around=None):
    """The same in a function that is traced, called within another scope: that one does not count."""
    names, variables = [], {}

    @tf.function(autograph=False)
    def traced():
        del names[:]

        def block(steps, place):
            for i, step in enumerate(steps):
                if step[0] == "variable":
                    if (*place, i) not in variables:
                        variables[(*place, i)] = tf.Variable(1.0, name=step[1])
                    names.append(variables[(*place, i)].name)
                    continue
                with tf.name_scope(step[1]) as scope:
                    names.append(scope)
                    names.append(tf.get_current_name_scope())
                    block(step[2], (*place, i))

        block(program, ())
        return tf.constant(0)

    if around is None:
        traced()
    else:
        with tf.name_scope(around):
            traced()
    return list(names)


def run_modules(tf, program):
    """Modules made in scopes have those scopes for ever."""
    names = []

    class Part(tf.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            with self.name_scope:
                self.weight = tf.Variable(1.0, name="weight")

        @tf.Module.with_name_scope
        def more(self):
            return tf.Variable(1.0, name="more").name

    def block(steps):
        for step in steps:
            if step[0] == "variable":
                part = Part(step[1] if step[1] and step[1].isidentifier() else None)
                with tf.name_scope("elsewhere"):
                    names.extend([part.name, part.name_scope.name, part.weight.name, part.more()])
                continue
            with tf.name_scope(step[1]):
                block(step[2])

    block(program)
    return names
