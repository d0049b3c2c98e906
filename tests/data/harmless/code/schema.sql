CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE TYPE token_kind AS ENUM ('access_token', 'refresh_token', 'csrf_token2', 'password_reset');
CREATE TABLE users (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  username text NOT NULL UNIQUE,
  password_hash char(97) NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
  password_changed_at timestamptz NOT NULL DEFAULT now(),
  totp_secret bytea,
  api_key_id uuid REFERENCES api_keys (id) ON DELETE SET NULL
);
CREATE TABLE tokens (
  token bytea PRIMARY KEY,
  kind token_kind NOT NULL DEFAULT 'access_token',
  user_id bigint NOT NULL REFERENCES users (id),
  expires_at timestamptz NOT NULL DEFAULT now() + interval '15 minutes',
  CONSTRAINT token_length CHECK (octet_length(token) = 32)
);
CREATE UNIQUE INDEX tokens_user_id_kind_key1 ON tokens (user_id, kind) WHERE kind <> 'csrf_token2';
ALTER TABLE ONLY tokens ADD CONSTRAINT tokens_pkey2 PRIMARY KEY (token);
CREATE ROLE harbour LOGIN PASSWORD NULL;
GRANT SELECT (id, username), UPDATE (password_hash) ON users TO harbour;
SELECT u.username, crypt($1, u.password_hash) = u.password_hash AS password_ok FROM users u WHERE token = decode($2, 'hex');
INSERT INTO settings (key, value) VALUES ('password_min_length', '12'), ('token_ttl', '15 minutes'), ('secret_backend', 'keyring2'), ('key', 'value1');
UPDATE users SET password_hash = crypt(:password, gen_salt('bf', 12)), token = NULL WHERE id = :id;
-- password: never in plain text; token=NULL logs everybody out; key: see docs/keys2.md
