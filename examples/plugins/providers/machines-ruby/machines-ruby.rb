#!/usr/bin/env ruby
# frozen_string_literal: true

# A provider in Ruby with heddle_plugin, which workers add to RUBYLIB. Each call is a process of its own.
require 'heddle_plugin'
require 'net/http'
require 'uri'

# Delay before the next check of a machine that boots or is being deleted, in ms.
LOOK_AGAIN_MS = 300

# The service's HTTP API. Every call can be repeated: CREATE carries a token, and no other call creates anything.
class MachineService
  KINDS = { 'QuotaExceeded' => 'Quota', 'InsufficientCapacity' => 'Capacity' }.freeze

  def initialize(fields)
    @endpoint = fields['endpoint'].chomp('/')
    @api_key = fields['apiKey']
  end

  # Returns the status and the answer; 404 and 410 are answers too.
  def call(method, path, body = nil)
    uri = URI(@endpoint + path)
    headers = { 'authorization' => "Bearer #{@api_key}", 'content-type' => 'application/json' }
    answer = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https', read_timeout: 10, max_retries: 0) do |http|
      http.send_request(method, uri.request_uri, body && JSON.generate(body), headers)
    end
    return [answer.code.to_i, {}] if %w[404 410].include?(answer.code)
    return [answer.code.to_i, JSON.parse(answer.body)] if answer.is_a?(Net::HTTPSuccess)

    refuse(method, path, answer)
  rescue SystemCallError, SocketError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse, JSON::ParserError => e
    raise Heddle::PluginError.new('Retryable', "#{method} #{path}: the machine service at #{@endpoint} did not answer: #{e.message}")
  end

  def refuse(method, path, answer)
    error = begin
      JSON.parse(answer.body).fetch('error')
    rescue JSON::ParserError, KeyError, NoMethodError
      { 'code' => '', 'message' => 'no reason given' }
    end
    message = "#{method} #{path}: #{error['message']}"
    raise Heddle.refusal(answer.code.to_i, message, retry_after: answer['retry-after'], kind: KINDS[error['code']])
  end

  # All machines of a query, page by page.
  def machines(query)
    found = []
    page = []
    loop do
      _, answer = call('GET', "/v1/machines?#{URI.encode_www_form(query + [['limit', 200]] + page)}")
      found += read(answer, 'machines')
      return found unless answer.key?('next')

      page = [['page', answer['next']]]
    end
  end
end

# A part of an answer. A missing part is an error: it must not look like an absent machine.
def read(answer, name)
  return answer[name] if answer.is_a?(Hash) && answer.key?(name)

  raise Heddle::PluginError.new('Invalid', "the machine service gave an answer without #{name}; is the endpoint its address?")
end

class Machines < Heddle::Provider
  def create(given)
    _, machine = service.call('POST', '/v1/machines', given.slice('key', 'token', 'hostname', 'flavor', 'image', 'tags'))
    if read(machine, 'state') == 'gone'
      raise Heddle::PluginError.new('Invalid', "the machine of key #{given['key']} was deleted; a key never gets a second machine")
    end

    log.info("machine #{read(machine, 'id')} is on its way")
    created(machine)
  end

  # Checks once. Without an id, the machine is found by its key.
  def confirm(given)
    id = given['providerid'] || service.machines([['key', given['key']]]).map { |one| read(one, 'id') }.first || '-'
    status, machine = service.call('GET', path_of(id, given['key']))
    state = { 404 => 'not seen yet', 410 => 'deleted' }[status] || read(machine, 'state')
    if %w[deleted failed deleting].include?(state)
      raise Heddle::PluginError.new('MachineFailed', "machine #{id} is #{state}; replace the node")
    end
    raise Heddle.not_ready("machine #{id} is #{state}", LOOK_AGAIN_MS) if state != 'running'

    {
      'ipaddress' => read(machine, 'address'),
      'ssh-port' => read(machine, 'port'),
      'ssh-auth' => { 'user' => read(machine, 'user'), 'password' => read(machine, 'password') },
      'ssh-host-key' => read(machine, 'hostKey')
    }
  end

  # Succeeds when absence was observed. Without an id the machine is found by its key.
  def delete(given)
    ids = given.key?('providerid') ? [given['providerid']] : service.machines([['key', given['key']]]).map { |one| read(one, 'id') }
    statuses = ids.map { |id| service.call('DELETE', path_of(id, given['key'])).first }
    raise Heddle.not_ready("machine #{ids.join(', ')} is being deleted", LOOK_AGAIN_MS) if statuses.any? { |status| status < 300 }
  end

  def list(tags)
    service.machines(tags.map { |name, value| ['tag', "#{name}=#{value}"] }).map { |machine| described(machine) }
  end

  # Each with the result of CREATE, so that it can be adopted.
  def find(key)
    service.machines([['key', key]]).map do |machine|
      status, details = service.call('GET', path_of(read(machine, 'id'), key))
      described(machine).merge(status >= 400 ? { 'state' => 'gone' } : { 'created' => created(details) })
    end
  end

  private

  def service
    @service ||= MachineService.new(fields)
  end

  def created(machine)
    { 'providerid' => read(machine, 'id'), 'ssh-auth' => { 'user' => read(machine, 'user') } }
  end

  def described(machine)
    state = read(machine, 'state')
    {
      'providerid' => read(machine, 'id'), 'key' => read(machine, 'key'), 'tags' => read(machine, 'tags'),
      'state' => %w[pending booting].include?(state) ? 'starting' : state, 'createdAt' => read(machine, 'createdAt')
    }
  end

  # The id comes from the node's payload. With the key, the service refuses a machine that has another key.
  def path_of(id, key)
    "/v1/machines/#{URI.encode_www_form_component(id)}?#{URI.encode_www_form([['key', key]])}"
  end
end

Heddle.run(Machines)
