-- Keys of several columns.

CREATE FUNCTION fence.fence_key(VARIADIC columns "any")
RETURNS text IMMUTABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_key';
COMMENT ON FUNCTION fence.fence_key("any") IS
'The key that these columns make together: their texts with / between them, and a \ before each / and \ inside one. No two lists of columns make the same key. Takes smallint, integer, bigint, text, varchar, uuid, boolean and domains over them; anything else, NULL, and a key of more than 255 bytes or none are ZF010';
