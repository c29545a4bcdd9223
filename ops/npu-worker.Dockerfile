# Image of the npu-worker: pinned packages with hashes, then opmend itself. Build from the project's root.
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/opmend
COPY requirements/npu-worker.txt requirements/
# Only this role's packages, at the pinned versions and hashes.
RUN pip install --no-cache-dir --require-hashes -r requirements/npu-worker.txt
# Apart from the others: its CPU and CUDA builds share a version but not their hashes.
RUN pip install --no-cache-dir torch==2.13.0
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
