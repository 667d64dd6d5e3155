# Creates a role that owns a database with a table. They already exist if the data came from another node.
. "$HEDDLE_DATA"
find_postgres
query <<'SQL'
SELECT 'CREATE ROLE app LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'app') \gexec
SELECT 'CREATE DATABASE app OWNER app' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'app') \gexec
\connect app
SET ROLE app;
CREATE TABLE IF NOT EXISTS note (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL, written timestamptz NOT NULL DEFAULT now());
SQL
