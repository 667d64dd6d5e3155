# If all nodes share one address, the node's number makes the ports distinct. A replica follows the node of service redis.
set -e
cd "$HOME/redis"
port=$((6400 + HEDDLE_NODENUM))
primary=
if [ "$HEDDLE_SERVICE" = replica ]; then
  while read -r node hostname address number services; do
    case ",$services," in
      *,redis,*) primary="$address $((6400 + number))" ;;
    esac
  done <"$HEDDLE_NODES"
fi
{
  echo "bind $HEDDLE_IPADDRESS"
  echo "port $port"
  echo "protected-mode no"
  echo "dir $HOME/redis"
  echo "appendonly yes"
  if [ -n "$primary" ]; then echo "replicaof $primary"; fi
} >redis.conf
echo "listens on $HEDDLE_IPADDRESS:$port${primary:+, follows $primary}"
