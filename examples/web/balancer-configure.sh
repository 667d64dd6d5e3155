# Writes the upstreams from the cluster's nodes: each line has id, hostname, address, number and services. Nodes that are
# drained are left out. No request is sent twice, so that a node that went down too early would show.
set -e
cd "$HOME/balancer"
port=$((8080 + HEDDLE_NODENUM))
servers=
while read -r node hostname address number services; do
  case ",$services," in
    *,app,*) servers="$servers $address:$((8080 + number))" ;;
  esac
done <"$HEDDLE_NODES"
for server in $servers; do echo "$server"; done >upstreams.new
mv upstreams.new upstreams
{
  echo "pid $HOME/balancer/nginx.pid; error_log $HOME/balancer/error.log; events {}"
  echo "http { access_log off; upstream app {"
  for server in ${servers:-$HEDDLE_IPADDRESS:1}; do echo "server $server;"; done
  echo "} server { listen $HEDDLE_IPADDRESS:$port; location / { proxy_pass http://app; proxy_next_upstream off; } } }"
} >nginx.conf
echo "balances$servers"
