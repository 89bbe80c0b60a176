"""`python -m reflect_lab`: the command line."""

import sys

from reflect_lab.cli.main import main

sys.exit(main())
