"""A fitted path as data: `Path`, its single models `Model`, and their storage."""

from .model import Model
from .path import Path
from .storage import load

__all__ = ["Model", "Path", "load"]
