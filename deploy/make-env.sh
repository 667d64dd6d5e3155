#!/bin/sh
# Creates the secrets of the container stack once: .env beside docker-compose.yml. Protect it like a password: its keys decrypt every payload.
set -eu

cd "$(dirname "$0")/.."
if [ -e .env ]; then
  echo ".env is there already, and the stack's data can be read with its secrets only. To begin anew: docker compose down --volumes, then remove .env" >&2
  exit 1
fi

random() { od -An -v -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }

key=$(head -c 32 /dev/urandom | base64 | tr -d '\n')
id=k$(random 4)
made=$(date -u +%Y-%m-%dT%H:%M:%SZ)

umask 077
cat >.env.new <<END
# Made by deploy/make-env.sh. Nobody else needs to read this.
POSTGRES_PASSWORD=$(random 24)
HEDDLE_CODEC_TOKEN=$(random 24)
HEDDLE_KEYS='{"version":1,"current":"$id","keys":[{"id":"$id","createdAt":"$made","key":"$key"}]}'
END
mv .env.new .env
echo ".env is made (mode 0600). Next: docker compose up --detach --build --wait"
