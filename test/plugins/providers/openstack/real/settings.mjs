// @ts-check

/** Where each service answers, on loopback. */
export const ports = {
  rabbit: 5672,
  keystone: 5100,
  nova: 5110,
  placement: 5120,
  glance: 5130,
  neutron: 5140,
};
export const authUrl = `http://127.0.0.1:${ports.keystone}/v3`;

/** One user does everything: nothing but tests ever sees this cloud. */
const login = {
  auth_url: authUrl,
  auth_type: 'password',
  project_domain_name: 'Default',
  user_domain_name: 'Default',
  project_name: 'admin',
  username: 'admin',
  password: 'pw',
};
const service = { ...login, region_name: 'RegionOne' };
const token = { www_authenticate_uri: authUrl, ...login };
const transport = `rabbit://guest:guest@127.0.0.1:${ports.rabbit}/`;

/** Several processes share each file. @param {string} name */
export const database = (name) => `sqlite:////srv/os/${name}.db?timeout=60`;

/**
 * @type {Record<string, Record<string, Record<string, string | number | boolean>>>} settings by file and
 * section
 */
export const settings = {
  'keystone/keystone.conf': {
    database: { connection: database('keystone') },
    token: { provider: 'fernet' },
    fernet_tokens: { key_repository: '/etc/keystone/fernet-keys/' },
    credential: { key_repository: '/etc/keystone/credential-keys/' },
    // Written by its API, the catalogue would meet the database's locks.
    catalog: { driver: 'templated', template_file: '/etc/keystone/catalog.templates' },
  },
  'nova/nova.conf': {
    DEFAULT: {
      transport_url: transport,
      compute_driver: 'fake.FakeDriver',
      state_path: '/var/lib/nova',
      my_ip: '127.0.0.1',
      host: 'fakehost',
      enabled_apis: 'osapi_compute',
      osapi_compute_listen: '127.0.0.1',
      osapi_compute_listen_port: ports.nova,
      osapi_compute_workers: 1,
      rpc_response_timeout: 60,
      vif_plugging_is_fatal: false,
      vif_plugging_timeout: 0,
    },
    api_database: { connection: database('nova_api') },
    database: { connection: database('nova') },
    conductor: { workers: 1 },
    scheduler: { workers: 1, discover_hosts_in_cells_interval: 5 },
    api: { auth_strategy: 'keystone' },
    keystone_authtoken: token,
    service_user: login,
    placement: service,
    neutron: service,
    glance: { api_servers: `http://127.0.0.1:${ports.glance}` },
    oslo_concurrency: { lock_path: '/srv/os' },
    filter_scheduler: { enabled_filters: 'ComputeFilter,ImagePropertiesFilter' },
  },
  // Debian's own would say libvirt.
  'nova/nova-compute.conf': { DEFAULT: { compute_driver: 'fake.FakeDriver' } },
  'placement/placement.conf': {
    placement_database: { connection: database('placement') },
    api: { auth_strategy: 'keystone' },
    keystone_authtoken: token,
  },
  'glance/glance-api.conf': {
    DEFAULT: { bind_host: '127.0.0.1', bind_port: ports.glance, workers: 0, enabled_backends: 'files:file' },
    database: { connection: database('glance') },
    glance_store: { default_backend: 'files' },
    files: { filesystem_store_datadir: '/srv/os/images/' },
    keystone_authtoken: token,
    paste_deploy: { flavor: 'keystone' },
  },
  'neutron/neutron.conf': {
    DEFAULT: {
      bind_host: '127.0.0.1',
      bind_port: ports.neutron,
      core_plugin: 'ml2',
      service_plugins: '',
      transport_url: transport,
      api_workers: 1,
      rpc_workers: 0,
      notify_nova_on_port_status_changes: false,
      notify_nova_on_port_data_changes: false,
      state_path: '/srv/os',
    },
    database: { connection: database('neutron') },
    keystone_authtoken: token,
    oslo_concurrency: { lock_path: '/srv/os' },
  },
  'neutron/plugins/ml2/ml2_conf.ini': {
    ml2: { type_drivers: 'local', tenant_network_types: 'local', mechanism_drivers: 'anyport' },
    securitygroup: { enable_security_group: true },
  },
};

/** @param {Record<string, Record<string, string | number | boolean>>} sections */
export function toIni(sections) {
  return Object.entries(sections)
    .map(
      ([name, values]) =>
        `[${name}]\n${Object.entries(values)
          .map(([key, value]) => `${key} = ${value}`)
          .join('\n')}\n`,
    )
    .join('\n');
}

/** What Keystone tells of the services. */
export const catalog = Object.entries({
  identity: ['keystone', '/v3'],
  compute: ['nova', '/v2.1'],
  placement: ['placement', ''],
  image: ['glance', ''],
  network: ['neutron', ''],
})
  .flatMap(([type, [name = '', path]]) => {
    const url = `http://127.0.0.1:${ports[/** @type {keyof typeof ports} */ (name)]}${path}`;
    return ['public', 'internal', 'admin']
      .map((side) => `catalog.RegionOne.${type}.${side}URL = ${url}`)
      .concat(`catalog.RegionOne.${type}.name = ${name}`);
  })
  .join('\n');

/** A mechanism driver that binds every port: there is no switch. */
export const anyPort = `from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class AnyPort(api.MechanismDriver):
    def initialize(self):
        pass

    def bind_port(self, context):
        for segment in context.segments_to_bind:
            context.set_binding(segment[api.ID], 'other', {portbindings.CAP_PORT_FILTER: False}, status='ACTIVE')
            return
`;

/** Neutron's migrations refuse SQLite: its tables are made of its models. */
export const neutronTables = `import sqlalchemy
from neutron.db.migration.models import head
head.get_metadata().create_all(sqlalchemy.create_engine('${database('neutron')}'))
`;
