# Writes the upstreams from the cluster's nodes: each line has id, hostname, address, number and services.
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
  for server in $servers; do echo "server $server;"; done
  echo "} server { listen $HEDDLE_IPADDRESS:$port; location / { proxy_pass http://app; } } }"
} >nginx.conf
if [ -f nginx.pid ] && [ "$(cat kind)" = nginx ]; then nginx -c "$HOME/balancer/nginx.conf" -s reload; fi
echo "balances$servers"
