# Starts the provider with the system's Python. Without one, workers start all the same: only this provider fails.
if command -v python3 >/dev/null 2>&1; then exec python3 -s ./main.py; fi
printf '%s\n' '{"status": 1, "error": {"kind": "Invalid", "message": "provider libcloud needs python3 on the PATH of the worker. Install Python 3.10 or newer, then run: heddle plugins setup libcloud"}}'
