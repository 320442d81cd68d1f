import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from shardlab.grading import pictures
from shardlab.grading.pictures import SIGNATURE, bounded, chunk
from tests.each import each


def header(width=2, height=1):
    """The first part of a picture in red, green and blue."""
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


PIXELS = chunk(b"IDAT", zlib.compress(b"\0" + b"\1\2\3" * 2))
END = chunk(b"IEND", b"")
PICTURE = SIGNATURE + header() + PIXELS + END


def test_a_picture_comes_back_as_it_was():
    assert bounded(PICTURE) == PICTURE


@each(
    "kind",
    [b"tEXt", b"zTXt", b"iTXt", b"iCCP", b"eXIf", b"tIME", b"acTL", b"fdAT"],
)
def test_what_is_no_picture_is_left_out(kind):
    more = chunk(kind, b"<script>alert(1)</script>")
    assert bounded(SIGNATURE + header() + more + PIXELS + more + END) == PICTURE


def test_colours_are_kept():
    palette = chunk(b"PLTE", b"\1\2\3") + chunk(b"tRNS", b"\0")
    data = SIGNATURE + header() + palette + PIXELS + END
    assert bounded(data) == data


@each(
    "data",
    [
        b"",
        b"<svg onload=alert(1)>",
        b"GIF89a",
        SIGNATURE,
        SIGNATURE + END,
        SIGNATURE + header(),
        SIGNATURE + header() + END,
        SIGNATURE + header() + PIXELS,
        SIGNATURE + PIXELS + header() + END,
        SIGNATURE + chunk(b"IHDR", b"") + PIXELS + END,
        SIGNATURE + header(0, 1) + PIXELS + END,
        SIGNATURE + header(1, 0) + PIXELS + END,
        SIGNATURE + header(4001, 1) + PIXELS + END,
        SIGNATURE + header(2000, 1001) + PIXELS + END,
        SIGNATURE + header(1, 2**31) + PIXELS + END,
        PICTURE[:-1],
        PICTURE[:-20] + END,
        PICTURE.replace(b"IDAT", b"IDAX"),
        SIGNATURE + header() + chunk(b"IDAT", bytes(2 << 20)) + END,
    ],
)
def test_what_is_no_whole_picture_is_refused(data):
    assert bounded(data) is None


def test_what_follows_the_end_is_left_out():
    assert bounded(PICTURE + b"<script>") == PICTURE


def test_the_largest_side_is_allowed():
    data = SIGNATURE + header(pictures.MAX_SIDE, 1) + PIXELS + END
    assert bounded(data) == data


def test_as_many_pixels_as_a_page_can_bear_are_allowed():
    data = SIGNATURE + header(2000, 1000) + PIXELS + END
    assert bounded(data) == data


@given(st.binary(max_size=300))
def test_any_bytes_are_a_picture_or_refused(data):
    assert bounded(data) is None
    found = bounded(SIGNATURE + data)
    assert found is None or found.startswith(SIGNATURE)


@given(st.integers(8, len(PICTURE) - 1), st.integers(1, 255))
def test_a_damaged_part_is_noticed(place, change):
    damaged = bytearray(PICTURE)
    damaged[place] ^= change
    assert bounded(bytes(damaged)) is None
