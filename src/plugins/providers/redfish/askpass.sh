#!/bin/sh
# What ssh runs instead of asking for the password of a controller.
printf '%s\n' "$HEDDLE_CONTROLLER_PASSWORD"
