"""Pictures of students, brought down to what a page may safely show."""

import struct
import zlib

__all__ = ["MAX_SIDE", "SIGNATURE", "bounded", "chunk"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_BYTES = 1 << 20
MAX_SIDE = 4000
# A figure as notebooks draw it has a tenth. A browser needs four bytes for each
# of them, however few a file has, and a page may show a hundred pictures.
MAX_PIXELS = 2_000_000
# What draws the picture; text, times, profiles and animation are left out.
KEPT = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")


def bounded(data):
    """A PNG file with nothing in it but its picture.

    data     bytes of what may be a PNG file
    returns  bytes, or None when it is no PNG, has more than MAX_BYTES, a side
             longer than MAX_SIDE, more than MAX_PIXELS, or a damaged or
             missing part
    """
    if not data.startswith(SIGNATURE) or len(data) > MAX_BYTES:
        return None
    kept = [(kind, body) for kind, body in _chunks(data) if kind in KEPT]
    if [kind for kind, _ in kept[:1] + kept[-1:]] != [b"IHDR", b"IEND"]:
        return None
    header = kept[0][1]
    if len(header) != 13 or not any(kind == b"IDAT" for kind, _ in kept):
        return None
    width, height = struct.unpack(">II", header[:8])
    if not all(1 <= side <= MAX_SIDE for side in (width, height)):
        return None
    if width * height > MAX_PIXELS:
        return None
    return SIGNATURE + b"".join(chunk(kind, body) for kind, body in kept)


def _chunks(data):
    """The parts of a PNG file, as far as they are whole: (kind, body)."""
    found, at = [], len(SIGNATURE)
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4])
        part = data[at + 4 : at + 8 + length]
        check = data[at + 8 + length : at + 12 + length]
        if zlib.crc32(part).to_bytes(4) != check:
            break
        found.append((part[:4], part[4:]))
        at += 12 + length
    return found


def chunk(kind, body):
    """One part of a PNG file as bytes."""
    check = zlib.crc32(kind + body).to_bytes(4)
    return len(body).to_bytes(4) + kind + body + check
