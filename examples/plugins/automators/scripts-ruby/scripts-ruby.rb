#!/usr/bin/env ruby
# frozen_string_literal: true

# An automator in Ruby with heddle_plugin, which workers add to RUBYLIB. Each call is a process of its own.
require 'heddle_plugin'

class Scripts < Heddle::Automator
  # Where the node records what was carried out.
  RECORD = '"$HOME/.scripts-ruby"'

  # Prepares a node. Runs any number of times.
  def bootstrap(_ssh_auth)
    execute("mkdir -p #{RECORD}")
  end

  # Install, configure, init, start, stop and remove alike: runs the script once, also after a crash.
  def carry_out(action, script, data)
    log.debug("carries out #{action}")
    outcome = shell.run(script, stdin: data)
    code = outcome['exitCode']
    unless code.zero?
      raise Heddle::PluginError.new('ScriptFailed', "the #{action} script ended with exit code #{code}", exit_code: code)
    end

    execute("echo #{action} >>#{RECORD}/done")
    outcome['results']
  end

  private

  # Runs a command that is safe to repeat.
  def execute(text)
    code = shell.exec('sh', '-c', text)['exitCode']
    raise Heddle::PluginError.new('Retryable', "#{text} ended with exit code #{code} on the node") unless code.zero?
  end
end

Heddle.run(Scripts)
