#!/bin/sh
# Builds Temporal's server, its SQL tool and its Web UI from source, in the versions of docker-compose.yml, for run-stack.mjs.
# Needs Go and the network; takes about 15 minutes on two cores, and 3 GB in Go's own cache.
#
#   test/deploy/build-servers.sh FOLDER
set -eu

folder=${1:?name the folder to build into}
compose=$(dirname "$0")/../../docker-compose.yml
version_of() { sed -n "s|^ *image: temporalio/$1:||p" "$compose" | head -n 1; }

mkdir -p "$folder/ui/config"
GOBIN=$(cd "$folder" && pwd)
export GOBIN CGO_ENABLED=0

# Go names a program after the last part of its package's path.
build() {
  echo "building $2 from $1"
  nice go install "$1"
  made=${1%@*}
  mv "$GOBIN/${made##*/}" "$GOBIN/$2"
}

server=v$(version_of server)
ui=v$(version_of ui)
build "go.temporal.io/server/cmd/tools/sql@$server" temporal-sql-tool
build "go.temporal.io/server/cmd/server@$server" temporal-server
build "github.com/temporalio/ui-server/v2/cmd/server@$ui" ui-server
# The image's own configuration, which fills itself in from the environment.
source=$(go mod download -json "github.com/temporalio/ui-server/v2@$ui" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
cp "$source/config/docker.yaml" "$folder/ui/config/docker.yaml"
chmod u+w "$folder/ui/config/docker.yaml"
echo "built into $folder; next: node test/deploy/run-stack.mjs --servers $folder"
