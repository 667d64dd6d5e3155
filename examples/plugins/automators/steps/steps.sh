#!/bin/sh
# An automator as a program, in plain POSIX shell. The task comes as one line of JSON; requests to the engine are lines of
# JSON on standard output, each answered by a line on standard input; the last line is the result.
#
# A shell cannot read JSON, but it need not: script and data stand at the beginning of the task, and go into a request
# exactly as they stand between their quotes. Inside of a text, every quote has a backslash before it.
set -eu

text='\([^"\\]*\(\\.[^"\\]*\)*\)'
beginning='^{"protocol":1,"call":"\([a-z]*\)","input":{'

# Asks the engine and waits for its answer: ask NUMBER REST-OF-THE-REQUEST
ask() {
  printf '{"id":%s,%s}\n' "$1" "$2"
  IFS= read -r answer
}

# Ends the task as failed: fail KIND WORDS (plain words: they are put into JSON as they are)
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
    # Safe to repeat, so `exec` will do.
    ask 1 '"request":"exec","command":["sh","-c","mkdir -p \"$HOME/.steps\""]'
    case $answer in
      '{"id":1,"result":{"exitCode":0,'*) echo '{"status":0}' ;;
      *) fail Retryable 'the folder for notes could not be made on the node' ;;
    esac
    ;;
  install | configure | init | start | stop | remove)
    field 2
    script=$found
    field 4
    # Runs once, whatever dies in between: a later attempt of this task gets the outcome of the same run.
    ask 1 "\"request\":\"run\",\"text\":\"$script\",\"stdin\":\"$found\""
    case $answer in
      '{"id":1,"result":{"exitCode":0,'*) ;;
      # Why it could not be run: the engine's own error goes on as it is.
      '{"id":1,"error":'*) printf '{"status":1,"error":%s\n' "${answer#'{"id":1,"error":'}" && exit 0 ;;
      *) fail ScriptFailed "the $call script ended with $(printf '%s\n' "$answer" | sed 's/.*"exitCode":\([0-9]*\),.*/exit code \1/')" ;;
    esac
    # What the script wrote to the file named by HEDDLE_RESULT stands at the end of the answer.
    results=$(printf '%s\n' "$answer" | sed -n 's/.*,"results":\({.*}\)}}$/\1/p')
    ask 2 '"request":"exec","command":["sh","-c","echo '"$call"' >>\"$HOME/.steps/done\""]'
    # Not by echo: many shells' echo would read the backslashes.
    printf '{"status":0,"result":%s}\n' "${results:-"{}"}"
    ;;
  *) fail Invalid "there is no call $call" ;;
esac
