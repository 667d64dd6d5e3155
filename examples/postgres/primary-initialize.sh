# Makes the primary's data, once: empty for a new cluster, and from the replica that is furthest when the machine of the
# primary was lost. An empty primary beside replicas with data would be the loss of it.
. "$HEDDLE_DATA"
find_postgres
[ ! -f "$data/PG_VERSION" ] || { echo 'the data is there already'; exit 0; }

# Where replicas stand in the WAL, with fixed width so that it sorts, and their addresses.
positions() {
  for address in $(addresses_of postgres-replica); do
    position=$(replicating psql -X -A -t -d "host=$address port=$port user=replicator replication=true" -c IDENTIFY_SYSTEM 2>/dev/null | cut -d '|' -f 3)
    [ -z "$position" ] || printf '%08X%08X %s\n' "0x${position%/*}" "0x${position#*/}" "$address"
  done
}

make_empty() {
  as_postgres initdb -D "$data.new" -E UTF8 --locale=C.UTF-8 --data-checksums --auth-local=peer --auth-host=scram-sha-256 >/dev/null
  mv "$data.new" "$data"
  echo 'made an empty database cluster'
}

# Promotion starts a new timeline, so that the other replicas can follow and nobody takes the old primary for this one.
make_from_replica() {
  echo "takes the data over from the replica at $1"
  replicating pg_basebackup -h "$1" -p "$port" -U replicator --no-password -D "$data.new" -X stream -c fast
  as_postgres touch "$data.new/standby.signal"
  mv "$data.new" "$data"
  start_postgres -c listen_addresses=
  as_postgres pg_ctl -D "$data" -w -t 300 promote >/dev/null
  stop_postgres
}

# What an earlier attempt left half-made.
rm -rf "$data.new"
furthest=$(positions | sort | tail -n 1)
if [ -n "$furthest" ]; then make_from_replica "${furthest#* }"; else make_empty; fi
