"""Is a model name known, and is its key there? `python -m workers.llm.check NAME` prints one JSON line.

The command line asks in this way, since only LLM workers may import LiteLLM.
"""

import json
import sys

from schema.errors import OpmendError
from workers.llm.client import litellm


def check(model: str) -> dict[str, object]:
    """{"known": true}, or {"known": false, "what": …, "mend": …}."""
    try:
        module = litellm()
    except OpmendError as error:
        return {"known": False, "what": error.what, "mend": error.mend}
    try:
        _, provider, _, _ = module.get_llm_provider(model=model)
    except module.exceptions.BadRequestError:
        return {
            "known": False,
            "what": "unknown model",
            "mend": "use 'kb', or a name that LiteLLM knows, with its provider: openai/NAME, anthropic/NAME, …",
        }
    missing = module.validate_environment(model=model).get("missing_keys") or []
    if missing:
        return {
            "known": False,
            "what": f"the environment lacks {', '.join(missing)} for provider {provider}",
            "mend": "set it; keys are read from the environment only, never stored",
        }
    return {"known": True, "provider": provider}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(check(sys.argv[1])) + "\n")
