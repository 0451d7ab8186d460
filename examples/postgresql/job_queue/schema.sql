-- A queue of jobs whose outcomes are fenced. To be run once by a superuser, in a database with
-- CREATE EXTENSION fence.
--
-- Two tables, because two questions are asked of a queue:
--   job          who should work on what now? A lease answers, which can be wrong at any time:
--                clocks, pauses, long jobs. Anybody may add to it, so it is not protected.
--   job_outcome  what became of the job? Its rows belong to the attempt that owns the job, and
--                to no other: protected.

CREATE TABLE job (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  command text NOT NULL,
  -- Rises by one each time the job is taken, under the row's lock: no two attempts share one,
  -- also where a worker dies before it has done anything. It is the epoch of the attempt.
  attempt bigint NOT NULL DEFAULT 0,
  taken_until timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX ON job (taken_until);

-- No row: there is no outcome yet. Its first one comes from a worker, under the key of the job.
CREATE TABLE job_outcome (
  job_id bigint PRIMARY KEY REFERENCES job,
  attempt bigint NOT NULL,
  state text NOT NULL CHECK (state IN ('done', 'failed')),
  output text NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);
SELECT fence.fence_protect('job_outcome', 'jobs', '["job_id"]');

-- Producers know nothing of Fence.
CREATE ROLE queue_producer LOGIN;
GRANT INSERT (command), SELECT ON job TO queue_producer;
GRANT SELECT ON job_outcome TO queue_producer;

-- Workers own no table: the owner of a table could take its protection away.
CREATE ROLE queue_worker LOGIN;
GRANT SELECT, UPDATE (attempt, taken_until) ON job TO queue_worker;
GRANT SELECT, INSERT, UPDATE ON job_outcome TO queue_worker;
SELECT fence.fence_grant_writer('queue_worker', 'jobs');
ALTER ROLE queue_worker SET idle_in_transaction_session_timeout = '1min';
ALTER ROLE queue_worker SET statement_timeout = '5min';
