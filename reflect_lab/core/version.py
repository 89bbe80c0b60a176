"""The version of this package, written down once."""

__version__ = "0.1.0"
