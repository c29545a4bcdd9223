"""LLM workers: they propose repairs, by zero-token rewrites or by a model."""
