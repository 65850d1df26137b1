"""Text that would act on a terminal, and whether any of it is left."""

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07[red]Alien[/red]\n3  item  5.00\r\u202egnp.exe\u2066\x9b31m\u2028\u200b\ufeff\x7f"
)
ACTS = {
    *range(32),
    *range(0x7F, 0xA0),
    0x2028,
    0x2029,
    0x200B,
    0xFEFF,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
}


def harmless(text, *, lines=True):
    return not ({ord(sign) for sign in text} & ACTS - ({10} if lines else set()))
