"""Cohorts: load a directory of workspaces, check it, freeze it into a manifest."""
