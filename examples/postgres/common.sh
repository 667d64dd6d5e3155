# Shared functions: each script gets this file as its data, and begins with `. "$HEDDLE_DATA"`.
set -eu
umask 077
cd /

port=5432
base=/var/lib/postgresql/$HEDDLE_CLUSTER
# The configuration is separate from the data: it exists before the data, and a base backup must not copy that of another
# node.
conf=$base/conf
data=$base/data
log=$base/postgres.log
sockets=/run/postgresql

fail() {
  echo "$*" >&2
  exit 1
}

as_postgres() { runuser -u postgres -- "$@"; }

# Puts PostgreSQL's programs on PATH: of the version that created the data, else the newest. Debian has a folder per version.
find_postgres() {
  for bin in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t / -k 5 -n -r); do
    [ -x "$bin/initdb" ] || continue
    if [ ! -f "$data/PG_VERSION" ] || [ "$bin" = "/usr/lib/postgresql/$(cat "$data/PG_VERSION")/bin" ]; then
      PATH=$bin:$PATH
      return 0
    fi
  done
  command -v initdb >/dev/null && command -v pg_ctl >/dev/null
}

# Runs a query as superuser over the local socket, from arguments or standard input. It waits for no replica: with synchronous
# replication none is connected before the primary has admitted them.
query() { as_postgres env PGOPTIONS='-c synchronous_commit=local' psql -X -q -A -t -v ON_ERROR_STOP=1 -h "$sockets" -p "$port" -d postgres "$@"; }

# Runs a program as the replication role.
replicating() { as_postgres env LC_ALL=C PGPASSFILE="$conf/pgpass" PGCONNECT_TIMEOUT=5 "$@"; }

# Repeats a command until it succeeds, for at most SECONDS.
wait_for() {
  tries=$1
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 1
  done
}

# Addresses of all nodes with a service, one per line; a line of HEDDLE_NODES has id, hostname, address, number and services.
addresses_of() {
  while read -r node hostname address number services; do
    case ",$services," in *",$1,"*) [ "$address" = - ] || echo "$address" ;; esac
  done <"$HEDDLE_NODES"
}

primary_address() {
  set -- $(addresses_of postgres)
  [ $# -eq 1 ] || fail "exactly one node has to carry the service postgres, but these do: ${*:-none}"
  echo "$1"
}

# Slots have the names of nodes, in characters that PostgreSQL allows.
slot_of() { echo "heddle_$1" | tr - _; }

# The cluster's settings, as lines of postgresql.conf: `config.postgres` of the cluster file, from the indented JSON of the task.
settings() {
  awk '/^  "cluster": / { cluster = 1 } cluster && /^    "postgres": \{$/ { inside = 1; next } inside && /^    \}/ { exit } inside' "$HEDDLE_TASK" |
    sed -e "s/'/''/g" -e 's/,$//' -e "s/^ *\"\([a-zA-Z_.]*\)\": \"\(.*\)\"$/\1 = '\2'/" -e "s/^ *\"\([a-zA-Z_.]*\)\": /\1 = /"
}

# Installs a postgresql.conf, with pg_hba.conf and the password; nothing changes if PostgreSQL refuses it.
write_configuration() {
  install -d -o postgres -g postgres -m 700 "$base" "$conf"
  printf '%s\n' "$1" >"$conf/new.conf"
  touch "$conf/floor.conf"
  chown postgres:postgres "$conf"/*
  as_postgres postgres -D "$conf" -c config_file="$conf/new.conf" -C port >"$conf/checked" 2>&1 || {
    cat "$conf/checked" >&2
    fail 'PostgreSQL refuses its configuration, as told above: correct config.postgres in the cluster file'
  }
  printf '%s\n' "$REPLICATION_PASSWORD" >"$conf/password"
  printf '*:*:*:replicator:%s\n' "$(printf '%s' "$REPLICATION_PASSWORD" | sed 's/[\\:]/\\&/g')" >"$conf/pgpass"
  # A server that is restarted here must not have the password in its environment.
  unset REPLICATION_PASSWORD
  who_may_connect >"$conf/pg_hba.conf"
  : >"$conf/pg_ident.conf"
  chown postgres:postgres "$conf"/*
  mv "$conf/new.conf" "$conf/postgresql.conf"
}

# The configuration of all nodes.
common_configuration() {
  cat <<END
# Written by Heddle and overwritten by the next apply: change config.postgres in the cluster file.
cluster_name = '$HEDDLE_NODE'
data_directory = '$data'
hba_file = '$conf/pg_hba.conf'
ident_file = '$conf/pg_ident.conf'
# Not '*': neighbours may share the network.
listen_addresses = '$HEDDLE_IPADDRESS'
port = $port
unix_socket_directories = '$sockets'
password_encryption = 'scram-sha-256'
wal_level = replica
hot_standby = on
# Two for each replica during its base backup. Equal everywhere, because a standby must allow at least as many as its primary.
max_wal_senders = 20
max_replication_slots = 20
# Limits the WAL kept for an absent replica, to protect the primary's disk.
max_slot_wal_keep_size = 1GB
END
  settings
  echo "include 'floor.conf'"
}

# Every node may replicate, including replicas: a new primary gets its data from one of them.
who_may_connect() {
  echo 'local all all peer'
  for address in $(addresses_of postgres) $(addresses_of postgres-replica); do
    case $address in
      # Connections of every machine on loopback come from this address.
      127.*) address=127.0.0.1/32 ;;
      *:*) address=$address/128 ;;
      *) address=$address/32 ;;
    esac
    echo "host replication replicator $address scram-sha-256"
  done | sort -u
}

running() { as_postgres pg_ctl -D "$data" status >/dev/null 2>&1; }

start_postgres() {
  # In memory, so it does not survive a reboot.
  install -d -o postgres -g postgres -m 755 "$sockets"
  write_floor
  as_postgres pg_ctl -D "$data" -l "$log" -w -t 300 -o "-c config_file=$conf/postgresql.conf $*" start >/dev/null || {
    tail -n 20 "$log" >&2
    fail 'PostgreSQL did not start; the end of its log stands above'
  }
}

# `fast` ends and rolls back sessions and flushes data; `immediate` is a crash, and `smart` waits for users.
stop_postgres() { as_postgres pg_ctl -D "$data" -m fast -w -t 300 stop >/dev/null; }

# Applies the configuration to a running server: by reload, or by restart if a setting requires it.
use_configuration() {
  write_floor
  loaded=$(query -c 'SELECT pg_conf_load_time()')
  as_postgres pg_ctl -D "$data" reload >/dev/null
  wait_for 30 has_loaded_since "$loaded" || fail 'PostgreSQL did not take over its configuration within 30 s'
  pending=$(query -c "SELECT string_agg(name, ', ') FROM pg_settings WHERE pending_restart")
  [ -n "$pending" ] || return 0
  echo "restarts for $pending"
  stop_postgres
  start_postgres
}

has_loaded_since() { [ "$(query -c 'SELECT pg_conf_load_time()')" != "$1" ]; }

# A standby does not start if its limits are lower than the primary's were when the primary wrote the WAL to replay. So it keeps
# the greater value until it starts again.
write_floor() {
  : >"$conf/floor.conf"
  [ -f "$data/standby.signal" ] || return 0
  as_postgres pg_controldata "$data" |
    sed -n -e 's/^max_prepared_xacts/max_prepared_transactions/' -e 's/^max_locks_per_xact/max_locks_per_transaction/' -e 's/^\(max_[a-z_]*\) setting: */\1 /p' |
    while read -r name value; do
      wanted=$(as_postgres postgres -D "$conf" -C "$name" </dev/null 2>/dev/null)
      [ "$wanted" -ge "$value" ] || echo "$name = $value"
    done >"$conf/new-floor"
  cat "$conf/new-floor" >"$conf/floor.conf"
}

no_floor() {
  write_floor
  [ ! -s "$conf/floor.conf" ]
}

# Creates the replication role, with the password of the cluster file.
set_password() {
  query <<SQL
\set password \`cat '$conf/password'\`
SELECT 'CREATE ROLE replicator LOGIN REPLICATION' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'replicator') \gexec
ALTER ROLE replicator PASSWORD :'password';
SQL
}

# Creates a slot for each replica, which keeps unread WAL; replaces a slot whose WAL was dropped.
add_slots() {
  for slot in $(replica_slots); do
    query >/dev/null <<SQL
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '$slot' AND NOT active AND wal_status = 'lost';
SELECT pg_create_physical_replication_slot('$slot', true) WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '$slot');
SQL
  done
}

# Drops unused slots, which would keep WAL for removed replicas.
drop_slots() {
  surplus="FROM pg_replication_slots WHERE slot_name LIKE 'heddle\_%' AND slot_name <> ALL (string_to_array('$(replica_slots | tr '\n' ' ')', ' '))"
  wait_for 30 no_surplus_slots || fail 'slots of replicas that left are still in use after 30 s'
}

# Ends the connection and drops the slot at once, because a running replica reconnects.
no_surplus_slots() {
  query >/dev/null <<SQL
SELECT pg_terminate_backend(active_pid, 5000) $surplus AND active;
SELECT pg_drop_replication_slot(slot_name) $surplus AND NOT active;
SQL
  [ "$(query -c "SELECT count(*) $surplus")" = 0 ]
}

replica_slots() {
  while read -r node hostname address number services; do
    case ",$services," in *,postgres-replica,*) slot_of "$node" ;; esac
  done <"$HEDDLE_NODES"
}
