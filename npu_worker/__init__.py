"""NPU workers: they compile, run and measure candidates."""
