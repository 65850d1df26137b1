from support.chains import crowd

__all__ = ["crowd"]
