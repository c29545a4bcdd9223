"""Decides and shows. Never runs a candidate, never calls a model."""
