from hushrec.release.kinds import CONSTANTS, DTYPES, KINDS, POSITIVE, RANKERS, VALUES


def test_the_tables_speak_of_the_same_kinds_and_tensors():
    assert set(CONSTANTS) == set(KINDS)
    assert set(KINDS) > RANKERS
    tensors = {name for kind in [*KINDS.values(), VALUES] for name in kind}
    assert tensors > POSITIVE | set(DTYPES)
    assert all(least < most for own in CONSTANTS.values() for least, most in own.values())
