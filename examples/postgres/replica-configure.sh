# Writes the replica's configuration. It contains the connection to the primary, instead of the data (as with pg_basebackup -R),
# so that the replica follows the primary to another address.
. "$HEDDLE_DATA"
find_postgres
primary=$(primary_address)
write_configuration "$(
  common_configuration
  echo "primary_conninfo = 'host=$primary port=$port user=replicator passfile=$conf/pgpass application_name=$HEDDLE_NODE'"
  echo "primary_slot_name = '$(slot_of "$HEDDLE_NODE")'"
)"
if running; then
  # A primary with lower limits is configured first, at this moment.
  wait_for 10 no_floor || echo 'allows more than is configured until its next start, for its primary did so'
  use_configuration
fi
echo "follows $primary"
