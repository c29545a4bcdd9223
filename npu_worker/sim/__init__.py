"""AscendC on a CPU: C++ headers (`include/`) and their runtime (`runtime/`), and the reader of its findings."""
