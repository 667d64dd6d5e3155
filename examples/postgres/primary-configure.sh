# Writes the primary's configuration, admits the current replicas, and removes former ones.
. "$HEDDLE_DATA"
find_postgres
primary_address >/dev/null
write_configuration "$(common_configuration)"
if running; then
  # Slots come first, so that an admitted replica finds its slot.
  add_slots
  set_password
  use_configuration
  drop_slots
fi
echo "admits $(addresses_of postgres-replica | wc -l) replicas"
