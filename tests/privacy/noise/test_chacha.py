"""ChaCha20 against the vectors of RFC 8439."""

import struct

import numpy as np
import pytest

from hushrec.privacy.noise.kernels import BLOCKS, WORDS, keystream

COUNTING = bytes(range(32))


def blocks(key: bytes, counter: int, nonce: bytes) -> list[bytes]:
    words = np.empty(WORDS, np.uint64)
    keystream(words, np.frombuffer(key, "<u4").astype(np.uint32), counter, struct.unpack("<3I", nonce))
    return [block.astype("<u8").tobytes() for block in words.reshape(8, BLOCKS).T]


# Key, block counter, nonce, keystream: §2.3.2, then appendix A.1, test vectors 1 to 5.
VECTORS = [
    (
        COUNTING,
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        bytes(32),
        0,
        "00" * 12,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "00" * 12,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\1",
        1,
        "00" * 12,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        b"\0\xff" + bytes(30),
        2,
        "00" * 12,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    (
        bytes(32),
        0,
        "00" * 11 + "02",
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
]


@pytest.mark.parametrize(("key", "counter", "nonce", "expected"), VECTORS)
def test_known_keystreams(key: bytes, counter: int, nonce: str, expected: str) -> None:
    assert blocks(key, counter, bytes.fromhex(nonce))[0].hex() == expected


def test_known_ciphertext() -> None:  # §2.4.2: two blocks
    plain = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
        b"sunscreen would be it."
    )
    cipher = bytes.fromhex(
        "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
        "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
        "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
        "5af90bbf74a35be6b40b8eedf2785e42874d"
    )
    stream = b"".join(blocks(COUNTING, 1, bytes.fromhex("000000000000004a00000000")))
    assert bytes(a ^ b for a, b in zip(plain, stream, strict=False)) == cipher


def test_every_block_is_the_one_of_its_counter() -> None:
    nonce = bytes(range(12))
    together = blocks(COUNTING, 2**32 - BLOCKS, nonce)
    alone = [blocks(COUNTING, 2**32 - BLOCKS - 7 + i, nonce)[7] for i in range(BLOCKS)]
    assert together == alone
    assert len(set(together)) == BLOCKS


@pytest.mark.parametrize("word", range(8))
def test_every_word_of_the_key_counts(word: int) -> None:
    other = bytearray(COUNTING)
    other[4 * word + 3] ^= 0x80
    assert blocks(bytes(other), 0, bytes(12))[0] != blocks(COUNTING, 0, bytes(12))[0]
