set -e
cd "$HOME/balancer"
port=$((8080 + HEDDLE_NODENUM))
if [ "$(cat kind)" = nginx ]; then
  nginx -c "$HOME/balancer/nginx.conf"
else
  node balancer.mjs "$HEDDLE_IPADDRESS" "$port" upstreams >balancer.log 2>&1 </dev/null &
  echo $! >balancer.pid
fi
tries=0
until node -e "fetch('http://$HEDDLE_IPADDRESS:$port').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"; do
  tries=$((tries + 1))
  [ "$tries" -lt 50 ] || { cat error.log balancer.log >&2 2>/dev/null; exit 1; }
  sleep 0.2
done
echo "url=http://$HEDDLE_IPADDRESS:$port" >>"$HEDDLE_RESULT"
echo "the balancer answers at http://$HEDDLE_IPADDRESS:$port"
