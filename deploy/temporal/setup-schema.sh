#!/bin/sh
# Creates the two databases of a Temporal server and updates them to the schema of this release. Idempotent.
# temporal-sql-tool reads SQL_HOST, SQL_PORT, SQL_USER, SQL_PASSWORD and SQL_PLUGIN.
set -eu

bring_up() {
  database=$1
  schema=$2
  # Does nothing if the database exists.
  temporal-sql-tool --database "$database" create-database
  # Set-up resets the version of an existing schema to 0.0, so run it only without a schema.
  if said=$(temporal-sql-tool --database "$database" update-schema --schema-name "$schema" 2>&1); then
    :
  elif printf '%s' "$said" | grep -q 'schema_version.*does not exist'; then
    temporal-sql-tool --database "$database" setup-schema --version 0.0
    temporal-sql-tool --database "$database" update-schema --schema-name "$schema"
  else
    printf '%s\n' "$said" >&2
    exit 1
  fi
  echo "database $database is up to date"
}

attempt=1
until temporal-sql-tool --database temporal create-database; do
  if [ "$attempt" -ge 30 ]; then
    echo "PostgreSQL at $SQL_HOST:$SQL_PORT did not let us in; its log says why" >&2
    exit 1
  fi
  attempt=$((attempt + 1))
  sleep 2
done

bring_up temporal postgresql/v12/temporal
bring_up temporal_visibility postgresql/v12/visibility
