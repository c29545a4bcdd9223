"""Ask the LLM workers' room whether a model name is known; this room never imports LiteLLM."""

import json
import os
import subprocess
import sys

from schema.errors import InfrastructureError, UnknownModel

TIMEOUT = 120.0


def check_model(model: str) -> None:
    """Return if the model can be called: a provider is known and its key is in the environment.

    Raises:
        UnknownModel: no provider answers to this name, or its key is missing.
        InfrastructureError: LLM workers are not installed here.
    """
    if model == "kb":
        return
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "workers.llm.check", model],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        )
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError) as error:
        raise InfrastructureError(
            "LLM workers can't be asked for the model", mend="pip install 'opmend[llm]', or use --model kb"
        ) from error
    if not answer["known"]:
        raise UnknownModel(answer["what"], where=model, mend=answer["mend"])
