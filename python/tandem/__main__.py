"""python -m tandem: the command `tandem`."""

import sys

from tandem.command import main

sys.exit(main())
