-- Accounts that actors write. To be run once by a superuser, in a database with CREATE
-- EXTENSION fence.
--
-- An actor is a process that owns some accounts and holds their balances in memory. The key of an
-- account is its id, and the same key covers what the account sends and what it receives:
--   request   what somebody wants to be transferred. Anybody may add to it: not protected.
--   account   balances.                        Key: id
--   transfer  what became of a request, and the message to whoever owns the receiver.
--                                              Key: sender
--   arrival   messages that the receiver has booked: each of them once. Key: receiver

CREATE TABLE account (
  id text PRIMARY KEY,
  balance bigint NOT NULL CHECK (balance >= 0)
);
CREATE TABLE request (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sender text NOT NULL REFERENCES account,
  receiver text NOT NULL REFERENCES account,
  amount bigint NOT NULL CHECK (amount > 0),
  CHECK (sender <> receiver)
);
CREATE TABLE transfer (
  request bigint PRIMARY KEY,
  sender text NOT NULL REFERENCES account,
  receiver text NOT NULL REFERENCES account,
  amount bigint NOT NULL,
  accepted boolean NOT NULL
);
CREATE INDEX ON transfer (receiver) WHERE accepted;
CREATE TABLE arrival (
  request bigint PRIMARY KEY REFERENCES transfer,
  receiver text NOT NULL REFERENCES account
);

-- What is there before a table is protected stays; later accounts are opened by their owner.
INSERT INTO account VALUES ('ada', 100), ('bob', 100), ('cyd', 100), ('dan', 100);
SELECT fence.fence_protect('account', 'accounts', '["id"]');
SELECT fence.fence_protect('transfer', 'accounts', '["sender"]');
SELECT fence.fence_protect('arrival', 'accounts', '["receiver"]');

-- Customers know nothing of Fence.
CREATE ROLE customer LOGIN;
GRANT INSERT (sender, receiver, amount), DELETE, SELECT ON request TO customer;
GRANT SELECT ON account, transfer, arrival TO customer;

-- Actors own no table: the owner of a table could take its protection away.
CREATE ROLE actor LOGIN;
GRANT SELECT ON request TO actor;
GRANT SELECT, INSERT, UPDATE ON account, transfer, arrival TO actor;
SELECT fence.fence_grant_writer('actor', 'accounts');
ALTER ROLE actor SET idle_in_transaction_session_timeout = '1min';
ALTER ROLE actor SET statement_timeout = '5min';
