"""Every setting, with its default and its meaning.

Order of precedence: arguments of the command, OPMEND_* variables, `opmend.toml` in the working
directory, the defaults below. DATABASE_URL and BROKER_URL switch from embedded to real servers.
Secrets (API keys of model providers) are never settings: LiteLLM reads them from the environment.
"""

import os
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from schema.errors import BadInput

SETTINGS_FILE = "opmend.toml"


class Settings(BaseSettings):
    """The settings of one process. Build it with `Settings.load()`, which turns errors into BadInput."""

    model_config = SettingsConfigDict(
        env_prefix="OPMEND_", toml_file=SETTINGS_FILE, frozen=True, extra="forbid"
    )

    home: Path = Field(
        default=Path(".opmend"), description="Where embedded servers, caches and logs live. Mode 0700."
    )
    database_url: str | None = Field(
        default=None,
        validation_alias="DATABASE_URL",
        description="A Postgres to use instead of the embedded one, as postgresql://…",
    )
    worker_database_url: str | None = Field(
        default=None,
        description="The same Postgres for workers, as a login of the role opmend_worker; DATABASE_URL if unset.",
    )
    broker_url: str | None = Field(
        default=None,
        validation_alias="BROKER_URL",
        description="A Redis to use instead of the embedded one, as redis://…",
    )
    model: str = Field(
        default="kb", description="'kb' (zero-token rewrites) or a model name that LiteLLM knows."
    )
    llm_workers: int = Field(default=1, ge=0, description="LLM workers that `opmend up` starts.")
    compile_workers: int = Field(default=1, ge=0, description="Compile workers that `opmend up` starts.")
    npu_workers: int = Field(default=1, ge=0, description="NPU workers that `opmend up` starts.")
    sandbox: Literal["on", "off"] = Field(
        default="on", description="'off' runs candidates without bubblewrap: only for trusted code."
    )
    lease_seconds: float = Field(
        default=30.0, gt=0, description="How long a job's lease lasts without a heartbeat."
    )
    job_attempts: int = Field(
        default=3, ge=1, description="Lost leases after which a job counts as infrastructure failure."
    )
    compile_timeout: float = Field(default=400.0, gt=0, description="Seconds for one compile job.")
    case_timeout: float = Field(default=30.0, gt=0, description="Seconds for one case of a candidate.")
    validate_timeout: float = Field(default=300.0, gt=0, description="Seconds for one validate job.")
    flower_port: int = Field(default=5555, description="Loopback port of Flower.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  pydantic's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  pydantic's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then opmend.toml; no .env files, no secrets directory."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @classmethod
    def load(cls) -> "Settings":
        """Read the settings of this process.

        Raises:
            BadInput: a variable or opmend.toml holds an unknown name or a wrong value.
        """
        try:
            return cls()
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise BadInput(
                f"setting {name!r}: {first['msg']}",
                where=SETTINGS_FILE if Path(SETTINGS_FILE).exists() else "environment",
                mend="correct it, or unset it to get the default",
            ) from error
        except tomllib.TOMLDecodeError as error:
            raise BadInput(str(error), where=SETTINGS_FILE, mend="correct the TOML") from error

    def require_database_url(self) -> str:
        """DATABASE_URL of a worker or coordinator process; `opmend` sets it for the ones it starts.

        Raises:
            BadInput: it is not set.
        """
        if self.database_url is None:
            raise BadInput("DATABASE_URL is not set", mend="set it, or start workers with `opmend up`")
        return self.database_url

    def require_worker_database_url(self) -> str:
        """The URL of a worker process: its own one, or DATABASE_URL.

        Raises:
            BadInput: neither is set.
        """
        return self.worker_database_url or self.require_database_url()

    @property
    def root(self) -> Path:
        """The absolute `home`."""
        return Path(os.path.abspath(self.home))
