# Stops primary or replica. A primary waits until connected replicas have all of its WAL.
. "$HEDDLE_DATA"
{ find_postgres && running; } || { echo 'was not running'; exit 0; }
stop_postgres
