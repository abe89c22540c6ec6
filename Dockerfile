# The app in a container: docs/install.md#docker
FROM python:3.12-slim AS build
WORKDIR /build
COPY . .
# This compiles the kernels, so that no first call waits for them.
RUN python -m venv /opt/rote && /opt/rote/bin/pip install --no-cache-dir '.[demo,semantic,web]'

FROM python:3.12-slim
COPY --from=build /opt/rote /opt/rote
RUN useradd --create-home rote && install -d -o rote /store
USER rote
ENV PATH=/opt/rote/bin:$PATH ROTE_STORE=/store HOME=/home/rote
VOLUME /store
EXPOSE 8765
# Set ROTE_TOKEN; otherwise the app generates a token and prints it.
ENTRYPOINT ["rote", "serve", "--host", "0.0.0.0", "--port", "8765", "--no-open"]
