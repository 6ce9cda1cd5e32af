CREATE TABLE customers (
  id     TEXT PRIMARY KEY,
  url    TEXT,
  active INTEGER NOT NULL DEFAULT 1,
  plan   TEXT NOT NULL DEFAULT 'small'
);

INSERT INTO customers (id, url, plan) VALUES
  ('acme', 'https://acme.example.com/shop', 'large'),
  ('blue', 'blue.example.com', 'small'),
  ('core', 'core.example.com', 'small');
