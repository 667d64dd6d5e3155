ansible_host: 192.0.2.71
