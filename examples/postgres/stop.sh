# Stops primary or replica. A primary waits until the replicas that are connected have all of its WAL.
. "$HEDDLE_DATA"
{ find_postgres && running; } || { echo 'was not running'; exit 0; }
stop_postgres
