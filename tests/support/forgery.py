"""State files that say anything at all and have a right checksum."""

import hashlib
import json


def forge(path, header, numbers=b""):
    """Write a file with a right checksum and any header."""
    body = b"onlinear 1\n" + json.dumps(header).encode() + b"\n" + numbers
    path.write_bytes(body + hashlib.sha256(body).digest())
