# frozen_string_literal: true

# Runs plugins of Loom, the older system, unchanged: ruby heddle_loom.rb FILE CLASS
#
# They are classes that extend Provider or Automator, read @task, and write @result.
# docs/reference/plugins/loom.md describes what differs.
require_relative 'heddle_plugin'

# What both kinds of plugins find in their objects.
class LoomPlugin
  attr_reader :task, :result

  def initialize(task)
    @task = task
    @result = { 'result' => {} }
  end

  def log
    @log ||= Heddle::Log.new
  end
end

class Provider < LoomPlugin
end

class Automator < LoomPlugin
end

file, class_name = ARGV
Heddle.serve do |task, _link|
  load(file)
  plugin = Object.const_get(class_name).new(task)
  given = task['input']
  words = case task['call']
          when 'create', 'confirm', 'delete' then [given]
          when 'bootstrap' then [given['sshAuth']]
          else [given['sshAuth'], given['script'], given['data']]
          end
  plugin.public_send(task['call'], *words)
  plugin.result.slice('status', 'result', 'stdout', 'stderr').compact
end
