"""The reference: model.py, run here, outside the sandbox and after the candidate.

A cohort's references are the user's own and frozen by hash; candidates never reach them. An error of the reference is
told as `ReferenceFailed`, which no candidate is blamed for.
"""

import importlib.util
import shutil
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from npu_worker.runner.calling import call, construct
from schema.errors import OpmendError
from schema.texts import bytes_of


class ReferenceFailed(OpmendError):
    """The reference raised an error; no candidate can be judged by it."""


class Reference:
    """The imported model.py of one workspace. Use it as a context manager: its files are temporary."""

    def __init__(self, files: Mapping[str, str], path: str) -> None:
        self._path = path
        self._home = Path(tempfile.mkdtemp(prefix="opmend-reference-"))
        try:
            for name, text in files.items():
                place = self._home / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(bytes_of(text))
            self._module = self._load()
            self.init = self._init_inputs()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Reference":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, inputs: Mapping[str, Any], *, seed: int) -> Any:
        """What Model(*init).forward returns for the inputs, which it may change.

        Raises:
            ReferenceFailed: with the error's text and place.
        """
        try:
            model = construct(self._module.Model, self.init, seed)
            return call(model, list(inputs), list(inputs.values()), seed)
        except Exception as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Remove its files."""
        shutil.rmtree(self._home, ignore_errors=True)

    def _load(self) -> ModuleType:
        place = self._home / self._path
        name = f"opmend_reference_{self._home.name.rpartition('-')[2]}"
        spec = importlib.util.spec_from_file_location(name, place)
        if spec is None or spec.loader is None:
            raise ReferenceFailed("no Python module", where=self._path, mend="name it model.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise self._failed(error) from error
        finally:
            sys.dont_write_bytecode = written
            del sys.modules[name]
        return module

    def _init_inputs(self) -> list[Any]:
        make = getattr(self._module, "get_init_inputs", None)
        try:
            return list(make()) if make is not None else []
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ReferenceFailed:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.startswith(str(self._home))
        ]
        line = f":{frames[-1].lineno}" if frames else ""
        text = "".join(traceback.format_exception_only(error)).strip().replace(str(self._home) + "/", "")
        return ReferenceFailed(
            f"the reference failed: {text[:500]}", where=self._path + line, mend="mend model.py or the case"
        )
