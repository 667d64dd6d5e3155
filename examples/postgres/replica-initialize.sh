# Makes the replica's data by a base backup of the primary.
. "$HEDDLE_DATA"
find_postgres
[ ! -f "$data/PG_VERSION" ] || { echo 'the data is there already'; exit 0; }
primary=$(primary_address)

# A primary that was running before this node joined admits it a moment later, when it is configured.
admitted() { replicating psql -X -d "host=$primary port=$port user=replicator replication=true" -c IDENTIFY_SYSTEM >/dev/null 2>"$conf/refusal"; }
wait_for 120 admitted || fail "the primary at $primary does not admit this replica: $(cat "$conf/refusal")"

# What an earlier attempt left half-made.
rm -rf "$data.new"
replicating pg_basebackup -h "$primary" -p "$port" -U replicator --no-password -D "$data.new" -X stream -c fast -S "$(slot_of "$HEDDLE_NODE")"
as_postgres touch "$data.new/standby.signal"
mv "$data.new" "$data"
echo "has a base backup of $primary"
