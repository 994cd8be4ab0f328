"""`python -m arrowroot` is the command `arrowroot`."""

import sys

from arrowroot.cli import main

sys.exit(main())
