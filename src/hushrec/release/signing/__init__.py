"""Signatures of releases: a file's owner, that no one altered it, and that it is not an older one.

The layers are those of in-toto and OpenSSF model-signing: Ed25519 (RFC 8032) over a DSSE envelope that holds
an in-toto statement. ``cryptography`` is imported when a signature is made or checked, and not before.
"""
