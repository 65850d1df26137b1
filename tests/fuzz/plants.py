"""Faults that the fuzzer must find: each puts back what was mended once."""

import contextlib
import json

from hushrec import errors
from hushrec.cli import console
from hushrec.data import cleaning
from hushrec.data.readers import binary, delimited
from hushrec.local import dataset_files
from hushrec.release import untrusted_json


def headers():
    untrusted_json.parse = lambda text, **_: json.loads(text)


def footers():
    def unsigned(self):
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    binary._Thrift._unsigned = unsigned


def panics():
    for module in (binary, delimited, cleaning, dataset_files):
        module.quiet = contextlib.nullcontext


def cells():
    def told(role, dtype, source):
        if not (dtype.is_numeric() or dtype == "String"):
            raise errors.DataError(f"{source}: column {role} is of type {dtype}")

    cleaning._check_type = told


def escapes():
    errors.HushrecError.__str__ = Exception.__str__
    console.escaped = str


PLANTS = {plant.__name__: plant for plant in (headers, footers, panics, cells, escapes)}
