# Creates the replica's data by a base backup of the primary.
. "$HEDDLE_DATA"
find_postgres
[ ! -f "$data/PG_VERSION" ] || { echo 'the data is there already'; exit 0; }
primary=$(primary_address)

# A running primary admits a new replica when it is configured, a moment later.
admitted() { replicating psql -X -d "host=$primary port=$port user=replicator replication=true" -c IDENTIFY_SYSTEM >/dev/null 2>"$conf/refusal"; }
wait_for 120 admitted || fail "the primary at $primary does not admit this replica: $(cat "$conf/refusal")"

# Partial data of an earlier attempt.
rm -rf "$data.new"
replicating pg_basebackup -h "$primary" -p "$port" -U replicator --no-password -D "$data.new" -X stream -c fast -S "$(slot_of "$HEDDLE_NODE")"
as_postgres touch "$data.new/standby.signal"
mv "$data.new" "$data"
echo "has a base backup of $primary"
