"""Ways to spoil bytes, text and JSON, drawn from a generator that is given, so that they can be repeated."""

import json
import struct

SECRET = "SECRET7"
NUMBERS = [0, 1, -1, 127, 128, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**61, 2**63 - 1, 2**63]
TEXTS = ["", " ", "NA", "nan", "inf", "-inf", "1e999", "-0", "0x1F", "1_000", "٣", "9" * 400, "1.79e308"]
TEXTS += [
    "'",
    "=1+1",
    "[red]",
    "\x1b[2J",
    "a\nb",
    "a\r\nb",
    "\0",
    "\u202e",
    "\ufeff",
    "é",
    "e\u0301",
    "😀",
    "x" * 300,
    '"',
    '""',
]
TEXTS += [
    "1",
    "5",
    "10",
    "20",
    "2000-01-01",
    "99999-99-99",
    ":",
    "::",
    ",",
    "\t",
    ";",
    "\x1f",
    "\x9b31m",
]
ODD = [None, True, False, [], {}, [[]], "", "\x1b[2J", "x\ny", "\ud800", "a" * 5000]
ODD += [
    0,
    -1,
    0.5,
    -1e308,
    1e308,
    2**63,
    10**400,
    float("nan"),
    float("inf"),
    [1, 2, 3],
    {"a": 1},
    "NOT PRIVATE: \u202e",
    "corrected",
    "user",
    "9" * 20,
]


def spoilt(data, random, *, ends=0.25):
    """Bytes with one to four faults, half of them at the end, where formats keep what says where all is."""
    found = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3, 4])):
        size = len(found)
        if not size:
            break
        at = random.randrange(size)
        if random.random() < 0.5:
            at = size - 1 - random.randrange(max(1, int(size * ends)))
        kind = random.randrange(8)
        if kind == 0:
            found[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            found[at] = random.choice([0, 1, 127, 128, 254, 255, random.randrange(256)])
        elif kind == 2:
            del found[at : size if random.random() < 0.3 else at + random.randrange(1, 64)]
        elif kind == 3:
            start, length = random.randrange(size), random.randrange(1, 256)
            found[at : at + length] = found[start : start + length]
        elif kind == 4:
            found[at:at] = random.randbytes(random.randrange(1, 32))
        elif kind == 5:
            width, sign = random.choice([(1, "B"), (2, "H"), (4, "I"), (8, "Q")])
            number = random.choice(NUMBERS) & (256**width - 1)
            found[at : at + width] = struct.pack(random.choice("<>") + sign, number)
        elif kind == 6:
            found[at : at + 1] = varint(random.choice(NUMBERS) & (2**64 - 1))
        else:
            start = random.randrange(size)
            found[at:at] = found[start : start + random.randrange(1, 512)]
    return bytes(found)


def varint(number):
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def reworded(text, random, separators):
    """Text with fields, separators and lines changed."""
    found = text
    for _ in range(random.randrange(1, 6)):
        lines = found.split("\n")
        row = random.randrange(len(lines))
        kind = random.randrange(6)
        if kind == 0:
            separator = random.choice(separators)
            fields = lines[row].split(separator)
            fields[random.randrange(len(fields))] = random.choice(TEXTS)
            lines[row] = separator.join(fields)
        elif kind == 1:
            lines[row] += random.choice([*separators, *TEXTS])
        elif kind == 2:
            lines.insert(row, random.choice([*TEXTS, lines[random.randrange(len(lines))]]))
        elif kind == 3:
            del lines[row]
        elif kind == 4:
            lines = lines[: row + 1]
        else:
            lines[row] = lines[row].replace(random.choice(separators), random.choice([*separators, *TEXTS]))
        found = "\n".join(lines) or "\n"
    return found


def rearranged(value, random):
    """A JSON value with one part replaced, gone, or put elsewhere; in place."""
    places = []

    def walk(inside):
        for key in list(inside) if isinstance(inside, dict) else range(len(inside)):
            places.append((inside, key))
            if isinstance(inside[key], dict | list):
                walk(inside[key])

    walk(value)
    for _ in range(random.choice([1, 1, 2, 3])):
        inside, key = random.choice(places)
        other, name = random.choice(places)
        kind = random.randrange(8)
        try:
            if kind < 4:
                inside[key] = random.choice(ODD)
            elif kind == 4:
                inside.pop(key)
            elif kind == 5:
                inside[key] = json.loads(json.dumps(other[name]))
            elif kind == 6 and isinstance(inside, dict):
                inside[random.choice(["x", "\x1b", key + "s", ""])] = inside[key]
            elif isinstance(inside[key], int | float) and not isinstance(inside[key], bool):
                inside[key] *= random.choice([-1, 0, 0.5, 2, 1e6, 1e-6, 1e300])
        except (LookupError, OverflowError, ValueError):
            continue
    return value
