# Creates the primary's data once: empty for a new cluster, or from the most advanced replica where data existed before.
# An empty primary beside replicas with data would lose the data.
. "$HEDDLE_DATA"
find_postgres

# Lists replicas whose machine may hold data, also if their server is stopped: those whose INITIALIZE was begun. That happens
# only after a primary had data. A list that cannot be read is a failure, not an empty list.
replicas_with_data() {
  while read -r node hostname address number services; do
    case ",$services," in *,postgres-replica,*) ;; *) continue ;; esac
    initialized=$(sh "$HEDDLE_GET" "nodes/$node/initialized") || fail "cannot tell whether $node has data: update Heddle's workers and retry"
    if printf '%s\n' "$initialized" | grep -qx postgres-replica; then echo "$node"; fi
  done <"$HEDDLE_NODES"
}

# Lists the WAL positions of all replicas, in a sortable fixed width, and their addresses. A replica that refuses the connection
# does not run; any other error may hide data.
look() {
  : >"$conf/positions"
  : >"$conf/systems"
  for address in $(addresses_of postgres-replica); do
    answer=$(replicating psql -X -w -A -t -d "host=$address port=$port user=replicator replication=true" -c IDENTIFY_SYSTEM 2>"$conf/refusal") ||
      { grep -q 'Connection refused' "$conf/refusal" && continue; } ||
      fail "the replica at $address may have data, but does not give it: $(cat "$conf/refusal"). Mend it and retry."
    position=$(echo "$answer" | cut -d '|' -f 3)
    printf '%08X%08X %s\n' "0x${position%/*}" "0x${position#*/}" "$address" >>"$conf/positions"
    echo "$answer" | cut -d '|' -f 1 >>"$conf/systems"
  done
  [ "$(sort -u "$conf/systems" | wc -l)" -le 1 ] ||
    fail "the replicas have different databases, with the system identifiers $(sort -u "$conf/systems" | paste -s -d ' '): stop those with the wrong one and retry"
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
  holders=$(replicas_with_data)
  look
  if [ ! -s "$conf/positions" ] && [ -n "$holders" ]; then
    # Replicas may be restarting for a new setting.
    wait_for 15 some_replica_answers ||
      fail "no replica runs that could give the data, which may be on" $holders": start the server of one and retry. If there never were data, apply the file with no replicas, and then with them"
  fi
  if [ -s "$conf/positions" ]; then copy_from "$(sort "$conf/positions" | tail -n 1 | cut -d ' ' -f 2)"; else make_empty; fi
fi
if [ -f "$data/standby.signal" ]; then promote; fi
