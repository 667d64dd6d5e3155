# If all nodes share one address, the node's number makes the ports distinct.
set -e
cd "$HOME/app"
redis=
replica=
while read -r node hostname address number services; do
  case ",$services," in
    *,redis,*) redis="$address:$((6400 + number))" ;;
    *,replica,*) replica="$address:$((6400 + number))" ;;
  esac
done <"$HEDDLE_NODES"
greeting=$(heddle-get cluster/greeting)
node -e 'const [greeting, redis, replica] = process.argv.slice(1); console.log(JSON.stringify({ greeting, redis, replica }))' \
  "$greeting" "$redis" "${replica:-$redis}" >app.json.new
mv app.json.new app.json
url="http://$HEDDLE_IPADDRESS:$((8080 + HEDDLE_NODENUM))/health"
echo "node -e \"fetch('$url').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))\"" >check
