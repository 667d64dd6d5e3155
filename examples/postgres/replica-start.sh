# Starts the replica and verifies that WAL arrives.
. "$HEDDLE_DATA"
find_postgres
streams() { [ "$(query -c 'SELECT status FROM pg_stat_wal_receiver')" = streaming ]; }
running || start_postgres
wait_for 60 streams || {
  tail -n 20 "$log" >&2
  fail "the replica does not stream from $(primary_address): the end of its log stands above; where WAL was removed, replace the node"
}
echo "streams from $(primary_address)"
