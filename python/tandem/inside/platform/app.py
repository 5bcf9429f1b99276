"""tensorflow.python.platform.app: absl's."""


def run(main=None, argv=None):
    import sys

    from absl import app

    app.run(main or sys.modules["__main__"].main, argv=argv)
