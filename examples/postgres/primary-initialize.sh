# Creates the primary's data once: empty for a new cluster, or from the most advanced replica if this machine replaces another.
# An empty primary beside replicas with data would lose the data.
. "$HEDDLE_DATA"
find_postgres

# The first machine of a node has incarnation 1; each that replaces it has a higher one.
came_later() { [ "$(sed -n 's/^  "incarnation": \([0-9]*\),$/\1/p' "$HEDDLE_TASK")" -gt 1 ]; }

# Lists the WAL positions of all replicas, in a sortable fixed width, and their addresses. A replica that refuses the connection
# has no data yet; any other error may hide data.
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

# Starts a new timeline, so that the other replicas follow and the old primary cannot be confused with this one.
promote() {
  running || start_postgres -c listen_addresses=
  as_postgres pg_ctl -D "$data" -w -t 300 promote >/dev/null
  stop_postgres
}

if [ ! -f "$data/PG_VERSION" ]; then
  # Partial data of an earlier attempt.
  rm -rf "$data.new"
  look
  if [ ! -s "$conf/positions" ] && [ -n "$(addresses_of postgres-replica)" ] && came_later; then
    # Replicas may be restarting for a new setting.
    wait_for 15 some_replica_answers ||
      fail 'no replica runs that could give the data of the primary that was here: start one and retry. A cluster that never had data can be deleted and made again.'
  fi
  if [ -s "$conf/positions" ]; then copy_from "$(sort "$conf/positions" | tail -n 1 | cut -d ' ' -f 2)"; else make_empty; fi
fi
if [ -f "$data/standby.signal" ]; then promote; fi
