-- The settings: none of them carries authority.

-- Defaults, ranges, who sets them. The prefix is reserved once the library is loaded.
SELECT fence.fence_version() IS NOT NULL AS loaded;
SELECT name, setting, unit, vartype, context, min_val, max_val, boot_val
FROM pg_settings WHERE name LIKE 'fence.%' ORDER BY name COLLATE "C";

SET fence.evict_after = '99ms';
SET fence.evict_after = '100ms';
SHOW fence.evict_after;
SET fence.evict_after = '1h';
SET fence.evict_after = '3600001ms';
SET fence.evict_after = -1;
SET fence.evict_after = 'soon';
SHOW fence.evict_after;
SET fence.commit_wait = '9ms';
SET fence.commit_wait = '10ms';
SHOW fence.commit_wait;
SET fence.commit_wait = '1h';
SET fence.commit_wait = '61min';
SHOW fence.commit_wait;
SET fence.log_refusals = 'perhaps';
SET fence.log_refusals = off;
RESET ALL;

-- P46: placeholders are refused, and so is everybody who is no superuser.
SET fence.nonsense = 1;
SELECT set_config('fence.epoch', '7', false);
SELECT set_config('fence.writer', '11111111-1111-4111-8111-111111111111', true);
CREATE ROLE settings_plain;
SET ROLE settings_plain;
SET fence.nonsense = 1;
SET fence.evict_after = '100ms';
SET LOCAL fence.commit_wait = '1h';
SELECT set_config('fence.log_refusals', 'off', false);
RESET ROLE;
ALTER ROLE settings_plain SET fence.nonsense = 1;
SELECT name FROM pg_settings WHERE name LIKE 'fence.%' AND setting <> boot_val;

-- Set before the library was loaded: by whom it may not be, it does not count.
\c -
SET client_min_messages = error;
SET ROLE settings_plain;
SET fence.evict_after = '100ms';
SET fence.nonsense = 1;
RESET ROLE;
SELECT fence.fence_version() IS NOT NULL AS loaded;
SHOW fence.evict_after;
SHOW fence.nonsense;
\c -
SET fence.evict_after = '200ms';
SELECT fence.fence_version() IS NOT NULL AS loaded;
SHOW fence.evict_after;
DROP ROLE settings_plain;
