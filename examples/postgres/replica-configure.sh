# Writes the replica's configuration. The connection to the primary stands here and not in the data (as pg_basebackup -R would
# have it), so that it follows the primary to another address.
. "$HEDDLE_DATA"
find_postgres
primary=$(primary_address)
write_configuration "$(
  common_configuration
  echo "primary_conninfo = 'host=$primary port=$port user=replicator passfile=$conf/pgpass application_name=$HEDDLE_NODE'"
  echo "primary_slot_name = '$(slot_of "$HEDDLE_NODE")'"
)"
if running; then
  # A primary that is to allow less comes first, and is configured at this moment.
  wait_for 10 no_floor || echo 'allows more than is configured until its next start, for its primary did so'
  use_configuration
fi
echo "follows $primary"
