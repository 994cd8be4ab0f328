"""`python -m arrowroot.cli`."""

import sys

from arrowroot.cli import main

sys.exit(main())
