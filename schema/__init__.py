"""What is stored and sent: settings, tables, migrations, position keys, the snippet store, jobs and queues."""
