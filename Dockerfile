# syntax=docker/dockerfile:1
# The native part of Temporal's SDK needs glibc: no Alpine.
ARG NODE_IMAGE=node:22-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY tools tools
COPY src src
RUN npm run build

FROM ${NODE_IMAGE} AS worker
# The SDK verifies certificates of Temporal servers with the system's list.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production HEDDLE_DATA_FOLDER=/var/lib/heddle
COPY package.json package-lock.json .npmrc ./
# The SDK contains its native part for five platforms, 25 to 30 MB each; only one is needed.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +
COPY bin bin
COPY --from=build /app/dist dist
COPY sdk sdk
COPY examples/plugins examples/plugins
COPY deploy/codec-server.mjs deploy/
# Named volumes inherit owner and mode from here.
RUN ln -s /app/bin/heddle.mjs /usr/local/bin/heddle \
  && install -d -o node -g node -m 700 /var/lib/heddle /var/lib/heddle-machines
USER node
CMD ["heddle", "worker"]

# With a development server, for trials: docker build --target dev .
FROM build AS temporal
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates python3-venv \
  && rm -rf /var/lib/apt/lists/*
RUN install -D "$(node tools/get-temporal.mjs)" /temporal/temporal

FROM worker AS dev
COPY --from=temporal /temporal/temporal /usr/local/bin/temporal
CMD ["heddle", "dev"]

FROM worker
