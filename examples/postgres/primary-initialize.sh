# Makes the primary's data, once: empty for a new cluster, and from the replica that is furthest when this machine stands for
# one that was lost. An empty primary beside replicas with data would be the loss of it.
. "$HEDDLE_DATA"
find_postgres

# Machines are numbered through the life of a cluster: a number above that of its nodes belongs to one that came later.
came_later() { [ "$(sed -n 's/^  "incarnation": \([0-9]*\),$/\1/p' "$HEDDLE_TASK")" -gt "$(grep -c . "$HEDDLE_NODES")" ]; }

# Looks at all replicas: where they stand in the WAL, in a fixed width that sorts, and their addresses. Where nothing listens
# there is no data yet; any other refusal may hide some.
look() {
  : >"$conf/positions"
  for address in $(addresses_of postgres-replica); do
    answer=$(replicating psql -X -w -A -t -d "host=$address port=$port user=replicator replication=true" -c IDENTIFY_SYSTEM 2>"$conf/refusal") ||
      { grep -q 'Connection refused' "$conf/refusal" && continue; } ||
      fail "the replica at $address may have data, but does not give it: $(cat "$conf/refusal"). Mend it and retry."
    position=$(echo "$answer" | cut -d '|' -f 3)
    printf '%08X%08X %s\n' "0x${position%/*}" "0x${position#*/}" "$address" >>"$conf/positions"
  done
}

some_replica_answers() {
  look
  [ -s "$conf/positions" ]
}

make_empty() {
  as_postgres initdb -D "$data.new" -E UTF8 --locale=C.UTF-8 --data-checksums --auth-local=peer --auth-host=scram-sha-256 >/dev/null
  mv "$data.new" "$data"
  echo 'made an empty database cluster'
}

copy_from() {
  echo "takes the data over from the replica at $1"
  replicating pg_basebackup -h "$1" -p "$port" -U replicator --no-password -D "$data.new" -X stream -c fast
  as_postgres touch "$data.new/standby.signal"
  mv "$data.new" "$data"
}

# Starts a new timeline, so that the other replicas can follow and nobody takes the old primary for this one.
promote() {
  running || start_postgres -c listen_addresses=
  as_postgres pg_ctl -D "$data" -w -t 300 promote >/dev/null
  stop_postgres
}

if [ ! -f "$data/PG_VERSION" ]; then
  # What an earlier attempt left half-made.
  rm -rf "$data.new"
  look
  if [ ! -s "$conf/positions" ] && [ -n "$(addresses_of postgres-replica)" ] && came_later; then
    # They may be restarting for a new setting.
    wait_for 15 some_replica_answers ||
      fail 'no replica runs that could give the data of the primary that was here: start one and retry. A cluster that never had data can be deleted and made again.'
  fi
  if [ -s "$conf/positions" ]; then copy_from "$(sort "$conf/positions" | tail -n 1 | cut -d ' ' -f 2)"; else make_empty; fi
fi
if [ -f "$data/standby.signal" ]; then promote; fi
