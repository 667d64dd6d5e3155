#!/bin/sh
# An automator as a program in POSIX shell. The task is one line of JSON; requests to the engine are lines of JSON on
# standard output, each answered by a line on standard input; the last line is the result.
#
# No JSON parser is needed: script and data are at the beginning of the task, and are copied into a request exactly as they
# are between their quotes. Inside a text, every quote has a backslash before it.
set -eu

text='\([^"\\]*\(\\.[^"\\]*\)*\)'
beginning='^{"protocol":1,"call":"\([a-z]*\)","input":{'

# Asks the engine and waits for its answer: ask NUMBER REST-OF-THE-REQUEST
ask() {
  printf '{"id":%s,%s}\n' "$1" "$2"
  IFS= read -r answer
}

# Fails the task: fail KIND WORDS (plain words: they are copied into JSON unchanged)
fail() {
  printf '{"status":1,"error":{"kind":"%s","message":"%s"}}\n' "$1" "$2"
  exit 0
}

# Puts a field of the task into `found`: field NUMBER-OF-ITS-GROUP
field() {
  found=$(printf '%s\n' "$task" | sed -n "s/$beginning\"script\":\"$text\",\"data\":\"$text\".*/\\$1/p")
}

IFS= read -r task
call=$(printf '%s\n' "$task" | sed -n "s/$beginning.*/\\1/p")
printf '{"level":"debug","message":"carries out %s"}\n' "$call" >&2

case $call in
  bootstrap)
    # Safe to repeat, so `exec` is enough.
    ask 1 '"request":"exec","command":["sh","-c","mkdir -p \"$HOME/.steps\""]'
    case $answer in
      '{"id":1,"result":{"exitCode":0,'*) echo '{"status":0}' ;;
      *) fail Retryable 'the folder for notes could not be created on the node' ;;
    esac
    ;;
  install | configure | init | start | stop | remove)
    field 2
    script=$found
    field 4
    # Runs once, also after a crash: a later attempt of this task gets the outcome of the same run.
    ask 1 "\"request\":\"run\",\"text\":\"$script\",\"stdin\":\"$found\""
    case $answer in
      '{"id":1,"result":{"exitCode":0,'*) ;;
      # The engine's own error is passed on unchanged.
      '{"id":1,"error":'*) printf '{"status":1,"error":%s\n' "${answer#'{"id":1,"error":'}" && exit 0 ;;
      *) fail ScriptFailed "the $call script ended with $(printf '%s\n' "$answer" | sed 's/.*"exitCode":\([0-9]*\),.*/exit code \1/')" ;;
    esac
    # The end of the answer has what the script wrote to HEDDLE_RESULT.
    results=$(printf '%s\n' "$answer" | sed -n 's/.*,"results":\({.*}\)}}$/\1/p')
    ask 2 '"request":"exec","command":["sh","-c","echo '"$call"' >>\"$HOME/.steps/done\""]'
    # printf, because echo of many shells interprets backslashes.
    printf '{"status":0,"result":%s}\n' "${results:-"{}"}"
    ;;
  *) fail Invalid "there is no call $call" ;;
esac
