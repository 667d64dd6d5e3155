set -e
mkdir -p "$HOME/app"
cp "$HEDDLE_DATA" "$HOME/app/app.mjs"
