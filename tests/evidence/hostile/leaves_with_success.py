"""Leaves with exit code 0 before anything is asked."""

import os

os._exit(0)
