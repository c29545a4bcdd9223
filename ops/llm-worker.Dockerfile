# Image of the llm-worker: pinned packages with hashes, then opmend itself. Build from the project's root.
FROM python:3.12-slim
WORKDIR /opt/opmend
COPY requirements/llm-worker.txt requirements/
# Only this role's packages, at the pinned versions and hashes.
RUN pip install --no-cache-dir --require-hashes -r requirements/llm-worker.txt
# Named one by one: a checkout holds stores (.opmend), environments and keys that no image may carry.
COPY pyproject.toml README.md LICENSE ./
COPY schema schema
COPY kb kb
COPY coordinator coordinator
COPY workers workers
COPY npu_worker npu_worker
COPY cohorts cohorts
RUN pip install --no-cache-dir --no-deps --no-build-isolation . && useradd --create-home opmend
USER opmend
WORKDIR /home/opmend
