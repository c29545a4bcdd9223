"""Executable rewrites, a module a kind; each module lists its own in REWRITES."""
