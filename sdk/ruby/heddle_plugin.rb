# frozen_string_literal: true

# Heddle plugins in Ruby, with only the standard library.
#
#     require 'heddle_plugin'
#
#     class MyCloud < Heddle::Provider
#       def create(given) ... end
#       def confirm(given) ... end
#       def delete(given) ... end
#     end
#
#     Heddle.run(MyCloud)
#
# A worker starts the program for each call, calls one method of a new object, and adds the folder of this
# file to RUBYLIB. docs/reference/plugins/sdks.md describes it, docs/reference/plugins/contract.md what the
# methods must do.
require 'json'

module Heddle
  # The versions of the protocol that this file speaks.
  PROTOCOLS = [1].freeze

  # The optional keys of an error.
  ERROR_KEYS = %w[retryAfterMs exitCode remedy stdout stderr].freeze

  # Fails the task. The kind determines the engine's reaction.
  class PluginError < StandardError
    attr_reader :kind, :more, :result

    # Further keys: retry_after_ms, exit_code, remedy, stdout, stderr.
    def initialize(kind, message, result: nil, **more)
      super(message)
      @kind = kind
      @result = result
      @more = more.compact
    end

    def answer
      keys = @more.transform_keys { |name| Heddle.camel(name) }
      answer = { 'status' => 1, 'error' => { 'kind' => @kind, 'message' => message, **keys } }
      @result.nil? ? answer : { **answer, 'result' => @result }
    end
  end

  # One object serves one call.
  class Plugin
    attr_reader :task, :log

    def initialize(task, link)
      @task = task
      @link = link
      @log = Log.new
    end

    # Sends a request that the descriptor names, and returns its answer.
    def request(name, **keys)
      @link.request(name, **keys)
    end
  end

  # Has create(given), confirm(given) and delete(given), which return the result, and may have list(tags),
  # find(key) and other abilities, whose names the descriptor lists.
  class Provider < Plugin
    # The account's fields and the user's, with defaults and resolved secrets.
    def fields
      task['provider']['fields']
    end

    # Waits until the account may be called once more; needs the request calls.take in the descriptor.
    def take_call
      request('calls.take')
    end
  end

  # Carries out actions on the node of the task. Without a method of its own an action is carried out by
  # carry_out(action, script, data).
  class Automator < Plugin
    # The task's node, by requests to the engine, which has the connection and the login.
    attr_reader :shell

    def initialize(task, link)
      super
      @shell = Shell.new(link)
    end

    # The fields of the service's action.
    def fields
      task['service']['action']['fields']
    end

    # Prepares a node. Runs any number of times.
    def bootstrap(_ssh_auth); end

    def carry_out(action, _script, _data)
      raise PluginError.new('Invalid', "#{self.class} does not implement #{action}")
    end

    %w[install configure init start stop remove].each do |action|
      define_method(action) { |script, data| carry_out(action, script, data) }
    end
  end

  class Shell
    def initialize(link)
      @link = link
    end

    # Runs a script once, also after a crash: a later attempt of the task gets the outcome of the same run.
    # Returns exitCode, stdout, stderr and results.
    def run(text, **options)
      @link.request('run', text: text, **options)
    end

    # Runs a command. A later attempt runs it again, so it must be safe to repeat.
    def exec(*command, **options)
      @link.request('exec', command: command, **options)
    end

    def put_file(path, content, **options)
      @link.request('putFile', path: path, content: content, **options)
    end
  end

  class Log
    %w[debug info warn error].each do |level|
      define_method(level) { |message| $stderr.puts(Heddle.generate('level' => level, 'message' => message.to_s)) }
    end
  end

  # Messages to and from the engine. Standard input and output belong to them: the plugin and its children
  # read nothing, and what they print goes to the log.
  class Link
    def initialize
      @input = $stdin.dup
      @input.set_encoding('UTF-8')
      $stdin.reopen(File::NULL)
      @output = $stdout.dup
      @output.sync = true
      $stdout.reopen($stderr)
      $stdout.sync = true
      @sent = 0
      @mutex = Mutex.new
    end

    def receive
      line = @input.gets
      return { 'cancel' => 'the engine closed the input' } if line.nil?

      message = JSON.parse(line)
      raise TypeError, 'a message of the engine is not a JSON object' unless message.is_a?(Hash)

      message
    end

    def send_line(line)
      @output.write("#{line}\n")
    end

    # Sends a request and returns its answer; options such as timeout_ms are sent as timeoutMs.
    def request(name, **keys)
      given = keys.compact.transform_keys { |key| Heddle.camel(key) }
      answer = @mutex.synchronize { exchange({ 'request' => name, **given }) }
      raise PluginError.new('Retryable', "the call was ended: #{answer['cancel']}") if answer.key?('cancel')
      raise Heddle.received(answer['error']) if answer.key?('error')

      answer['result']
    end

    private

    def exchange(message)
      @sent += 1
      send_line(Heddle.generate({ 'id' => @sent, **message }))
      answer = receive
      # A request that was interrupted, such as by a timeout, left its answer behind.
      answer = receive until answer.key?('cancel') || answer['id'] == @sent
      answer
    end
  end

  module_function

  # Serves the call that the engine sends, and ends.
  def run(plugin_class)
    serve { |task, link| call(plugin_class, task, link) }
  end

  # Receives a task and answers with what the block returns.
  def serve
    link = Link.new
    task = link.receive
    line = begin
      check_protocol(task)
      generate(yield(task, link))
    rescue StandardError, ScriptError => e
      failure(e)
    end
    link.send_line(line)
  end

  def failure(error)
    generate(error.is_a?(PluginError) ? error.answer : defect(error))
  rescue PluginError => e
    generate(defect(e))
  end

  # Of the plugin: the engine tries again, and then holds the operation.
  def defect(error)
    message = error.message.empty? ? error.class.name : error.message
    stack = (error.backtrace || []).join("\n")[0, 8000]
    cause = { 'name' => error.class.name, 'message' => error.message, 'stack' => stack }
    { 'status' => 1, 'error' => { 'kind' => 'Internal', 'message' => message, 'cause' => cause } }
  end

  # The error of a task that the engine repeats after this delay.
  def not_ready(message, again_ms)
    PluginError.new('NotReady', message, retry_after_ms: again_ms)
  end

  # The error for an HTTP status, unless the code in the answer says which kind it is. Retry-After in seconds.
  def refusal(status, message, retry_after: nil, kind: nil)
    transient = status == 429 || status >= 500
    kind ||= [401, 403].include?(status) ? 'Auth' : (transient ? 'Retryable' : 'Invalid')
    after = retry_after.to_s.match?(/\A\d{1,6}\z/) ? retry_after.to_i * 1000 : nil
    PluginError.new(kind, message, retry_after_ms: after)
  end

  def check_protocol(task)
    return if PROTOCOLS.include?(task['protocol'])

    raise PluginError.new('Invalid', "the plugin does not speak version #{task['protocol'].inspect} of the protocol")
  end

  def call(plugin_class, task, link)
    name = snake(task['call'])
    given = task['input']
    plugin = plugin_class.new(task, link)
    # Methods of plugins and of their modules, not those that every object has.
    known = plugin_class.public_method_defined?(name)
    unless known && !Object.ancestors.include?(plugin_class.instance_method(name).owner)
      raise PluginError.new('Invalid', "#{plugin_class} does not implement #{task['call']}")
    end

    case name
    when 'create', 'confirm', 'delete' then action(plugin.public_send(name, given))
    when 'bootstrap' then action(plugin.bootstrap(given['sshAuth']))
    when 'list' then { 'status' => 0, 'result' => plugin.list(given['tags']) }
    when 'find' then { 'status' => 0, 'result' => plugin.find(given['key']) }
    else
      return action(plugin.public_send(name, given['script'], given['data'])) if given.key?('script')

      { 'status' => 0, 'result' => plugin.public_send(name, *given['arguments']) }
    end
  end

  # Ruby returns the value of the last expression of a method, so only a mapping is a result.
  def action(returned)
    { 'status' => 0, 'result' => returned.is_a?(Hash) ? returned : {} }
  end

  # The engine's own error, which is passed on with the keys that this file knows.
  def received(error)
    keys = error.slice(*ERROR_KEYS)
    PluginError.new(error['kind'], error['message'], **keys.transform_keys { |name| snake(name).to_sym })
  end

  # A line of JSON.
  def generate(value)
    JSON.generate(json(value))
  rescue SystemStackError, JSON::NestingError
    raise PluginError.new('Invalid', 'the value is not JSON: it is nested too deeply')
  end

  # The value itself: JSON.generate would send the description of an object that is not JSON.
  def json(value)
    case value
    when Hash then value.to_h { |key, item| [utf8(key.to_s), json(item)] }
    when Array then value.map { |item| json(item) }
    when String, Symbol then utf8(value.to_s)
    when Integer, true, false, nil then value
    when Float
      raise PluginError.new('Invalid', "the value is not JSON: it holds #{value}") unless value.finite?

      value
    else raise PluginError.new('Invalid', "the value is not JSON: it holds a #{value.class}")
    end
  end

  # Text for JSON. Invalid bytes become U+FFFD.
  def utf8(text)
    text = text.dup.force_encoding('UTF-8') if text.encoding == Encoding::BINARY
    text.encode('UTF-8', invalid: :replace, undef: :replace).scrub
  end

  def camel(name)
    name.to_s.gsub(/_(\w)/) { Regexp.last_match(1).upcase }
  end

  def snake(name)
    name.gsub(/[A-Z]/) { |letter| "_#{letter.downcase}" }
  end
end
