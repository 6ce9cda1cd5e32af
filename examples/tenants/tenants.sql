-- The rows of registry.yaml as a table. Three columns are all that a registry needs; plan is an extra one.
CREATE TABLE tenants (
  id        VARCHAR(40) PRIMARY KEY,
  url       VARCHAR(255),
  is_active INTEGER NOT NULL DEFAULT 0,
  plan      VARCHAR(20) NOT NULL DEFAULT 'basic'
);

INSERT INTO tenants (id, url, is_active, plan) VALUES
  ('acme', 'https://acme.example.com/shop', 1, 'enterprise'),
  ('blue', 'blue.example.com', 1, 'basic'),
  ('core', 'core.example.com', 0, 'basic');
