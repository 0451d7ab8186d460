"""fence_key against the golden vectors that every engine and client has in common, and as
clients call it."""
import json
import uuid

import psycopg
import pytest

from pgserver import TOP

VECTORS = json.loads((TOP / "regress/vectors/fence_key.json").read_text(encoding="utf-8"))


@pytest.fixture(name="ask")
def make_ask(server):
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        def ask(call, columns):
            return connection.execute(f"SELECT fence.fence_key({call})", columns).fetchone()[0]

        yield ask


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: ascii(vector["key"]))
def test_vector(ask, vector):
    """Given numbers, which psycopg sends in the smallest type that takes them, and text, which
    has to be cast: the server does not guess the type of a parameter here."""
    columns = vector["columns"]
    call = ", ".join("%s::text" if isinstance(column, str) else "%s" for column in columns)
    assert ask(call, columns) == vector["key"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: ascii(vector["key"]))
def test_vector_as_an_array_of_text(ask, vector):
    columns = [str(column) for column in vector["columns"]]
    assert ask("VARIADIC %s::text[]", (columns,)) == vector["key"]


def test_uuid_and_boolean_of_the_driver(ask):
    number = uuid.UUID("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")
    assert ask("%s, %s, %s", (number, True, False)) == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11/true/false"


def test_text_without_a_cast_is_the_servers_error(ask):
    with pytest.raises(psycopg.errors.IndeterminateDatatype):
        ask("%s, %s", ("a", "b"))


def test_null_of_a_prepared_statement(ask):
    for _ in range(10):
        assert ask("%s::text, %s::bigint", ("a", 7)) == "a/7"
        with pytest.raises(psycopg.Error) as refused:
            ask("%s::text, %s::bigint", ("a", None))
        assert refused.value.sqlstate == "ZF010"
        assert refused.value.diag.message_primary == "out_of_range: column 2 of the key is NULL"
