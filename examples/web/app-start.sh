# If all nodes share one address, the node's number makes the ports distinct.
set -e
port=$((8080 + HEDDLE_NODENUM))
cd "$HOME/app"
node app.mjs "$HEDDLE_IPADDRESS" "$port" "$HEDDLE_NODE" >app.log 2>&1 </dev/null &
echo $! >app.pid
tries=0
until node -e "fetch('http://$HEDDLE_IPADDRESS:$port').then(() => process.exit(0), () => process.exit(1))"; do
  tries=$((tries + 1))
  if [ "$tries" -ge 50 ] || ! kill -0 "$(cat app.pid)" 2>/dev/null; then cat app.log >&2; exit 1; fi
  sleep 0.2
done
echo "app answers on $HEDDLE_IPADDRESS:$port"
