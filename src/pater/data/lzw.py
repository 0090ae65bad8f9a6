"""The Unix ``compress`` format (.Z): the UCI repository still serves it, but Python cannot read it."""

from __future__ import annotations

MAGIC = b"\x1f\x9d"
CLEAR = 256
HEADER_BITS = 24


def decompress(data: bytes) -> bytes:
    """Undo ``compress``.

    Codes are packed from the low bit up and grow from 9 bits to the width that the header allows. They are written in
    blocks of eight, and a block is padded when the width changes, so the reader then skips to the next block.
    """
    if data[:2] != MAGIC or len(data) < 3:
        raise ValueError("not in the compress (.Z) format")
    widest, block_mode = data[2] & 0x1F, bool(data[2] & 0x80)
    literals = [bytes([i]) for i in range(256)] + ([b""] if block_mode else [])
    table, previous = literals.copy(), b""
    unpacked: list[bytes] = []
    width, position, block_start = 9, HEADER_BITS, HEADER_BITS

    while True:
        if len(table) >= 1 << width and width < widest:
            position = block_start = _next_block(position, block_start, width)
            width += 1
        if position + width > 8 * len(data):
            return b"".join(unpacked)
        code = _bits(data, position, width)
        position += width
        if code == CLEAR and block_mode:
            position = block_start = _next_block(position, block_start, width)
            table, previous, width = literals.copy(), b"", 9
            continue
        # A code may name the entry that it completes: the previous text followed by its first letter.
        if code == len(table) and previous:
            text = previous + previous[:1]
        elif code < len(table):
            text = table[code]
        else:
            raise ValueError(f"impossible code {code} in compressed (.Z) data")
        if previous and len(table) < 1 << widest:
            table.append(previous + text[:1])
        unpacked.append(text)
        previous = text


def _bits(data: bytes, position: int, width: int) -> int:
    first = position // 8
    window = int.from_bytes(data[first : first + 4], "little")
    return (window >> position % 8) & ((1 << width) - 1)


def _next_block(position: int, block_start: int, width: int) -> int:
    block = 8 * width
    return block_start + -(-(position - block_start) // block) * block
