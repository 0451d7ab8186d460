-- A scheduler of which several processes run and one leads. To be run once by a superuser, in a
-- database with CREATE EXTENSION fence.

-- Who should lead, and until when: one row. It may be wrong at any time, so it is not protected.
CREATE TABLE election (
  name text PRIMARY KEY,
  term bigint NOT NULL DEFAULT 0,
  leads_until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO election VALUES ('scheduler');

-- What only the leader may write. One constant key stands for all rows of all three tables:
-- whoever owns it leads.
CREATE TABLE settings (
  name text PRIMARY KEY,
  value text NOT NULL
);
CREATE TABLE schedule (
  task text PRIMARY KEY,
  every interval NOT NULL,
  due timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE run (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task text NOT NULL REFERENCES schedule,
  term bigint NOT NULL
);
-- What is there before a table is protected stays. This task runs as often as the leader looks.
INSERT INTO schedule VALUES ('tick', '0 s');
SELECT fence.fence_protect('settings', 'services', key => 'scheduler');
SELECT fence.fence_protect('schedule', 'services', key => 'scheduler');
SELECT fence.fence_protect('run', 'services', key => 'scheduler');

-- The processes own no table: the owner of a table could take its protection away.
CREATE ROLE scheduler LOGIN;
GRANT SELECT, UPDATE (term, leads_until) ON election TO scheduler;
GRANT SELECT, INSERT, UPDATE, DELETE ON settings, schedule, run TO scheduler;
SELECT fence.fence_grant_writer('scheduler', 'services');
ALTER ROLE scheduler SET idle_in_transaction_session_timeout = '1min';
ALTER ROLE scheduler SET statement_timeout = '5min';
