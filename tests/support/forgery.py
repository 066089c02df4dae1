"""Forge state files with any header and a valid checksum."""

import hashlib
import json


def forge(path, header, numbers=b""):
    """Write a file with any header and a valid checksum."""
    body = b"onlinear 1\n" + json.dumps(header).encode() + b"\n" + numbers
    path.write_bytes(body + hashlib.sha256(body).digest())
