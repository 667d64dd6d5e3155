# Starts the primary, and creates the replication role and the slots.
. "$HEDDLE_DATA"
find_postgres
running || start_postgres
set_password
add_slots
drop_slots
echo "postgres-url=postgresql://$HEDDLE_IPADDRESS:$port" >>"$HEDDLE_RESULT"
echo "the primary answers at $HEDDLE_IPADDRESS:$port"
