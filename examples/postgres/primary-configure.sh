# Writes the primary's configuration, admits the replicas that there are now, and forgets those that left.
. "$HEDDLE_DATA"
find_postgres
primary_address >/dev/null
write_configuration "$(common_configuration)"
if running; then
  # First the slots: a replica that is admitted finds its own.
  add_slots
  set_password
  use_configuration
  drop_slots
fi
echo "admits $(addresses_of postgres-replica | wc -l) replicas"
