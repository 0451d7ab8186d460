"""Steps, and how each is said: to the model, and as the SQL of each engine.

A step is a list that JSON can hold: a call and its arguments, or a word of SQL's
transactions. "w1" and the like are writers, bytes are text in UTF-8.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from run import WRITERS as STANDARD_WRITERS  # noqa: E402 (the line before is for it)

from arguments import CALLS, VIEWS, fingerprint  # noqa: E402

# A writer is compared by value: in braces and without hyphens it is the same one.
WRITERS = {**STANDARD_WRITERS, **{f"{{{name}}}": f"{{{text.replace('-', '').upper()}}}"
                                  for name, text in STANDARD_WRITERS.items()}}
TOKENS = {fingerprint(text): name for name, text in STANDARD_WRITERS.items()}
TRANSACTION = {"BEGIN": "savepoint", "COMMIT": "commit", "ROLLBACK": "rollback",
               "SAVEPOINT": "savepoint", "ROLLBACK TO": "rollback_to", "RELEASE": "release"}
COLUMNS = {
    "oplog_read": "idx, epoch, payload", "oplog_keys": "key",
    "oplog_metadata": "namespace, key, epoch, writer",
    "oplog_entries": "namespace, key, idx, epoch, payload",
    "oplog_status": "namespace, key, epoch, writer, first_idx, last_idx, length, deleted",
    "fenced_values": "namespace, key, name, epoch, value",
    "fence_namespaces": "namespace, mode, identical_repeat, shard_space, floor",
}
# A view appears together with the call that fills it.
VIEW_OF = {"fenced_values": "fenced_put", "fence_namespaces": "fence_namespace_set"}


def views(calls):
    return [view for view in VIEWS if VIEW_OF.get(view, view) in calls or view not in VIEW_OF]


def applies(step, model):
    """False for what SQL itself refuses: a step may have lost the one that it needs."""
    if step[0] not in TRANSACTION:
        return True
    if step[0] == "BEGIN":
        return not model.stack
    return bool(model.stack) and (step[0] not in ("ROLLBACK TO", "RELEASE")
                                  or step[1] in [name for name, _ in model.stack])


# ---- to the model ------------------------------------------------------------------

def for_model(kind, value):
    if kind == "writer":
        return WRITERS.get(value, value)
    if kind == "bytes" and value is not None:
        return value.encode()
    if kind == "payloads" and value is not None:
        return [item.encode() for item in value]
    return value


def kinds_of(call):
    return CALLS["fenced_append" if call == "insert_fenced_append" else call][0]


def arguments_for_model(step):
    kinds = kinds_of(step[0])
    if step[0] == "insert_fenced_append":
        return [[for_model(*pair) for pair in zip(kinds, row)] for row in step[1:]]
    return [for_model(*pair) for pair in zip(kinds, step[1:])]


def run_model(step, model):
    if step[0] in TRANSACTION:
        getattr(model, TRANSACTION[step[0]])(*([None] if step[0] == "BEGIN" else step[1:]))
        return None
    return model.call(step[0], *arguments_for_model(step))


# ---- to an engine ------------------------------------------------------------------

def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def bytes_literal(text, engine):
    return (f"X'{text.encode().hex()}'" if engine == "sqlite" else
            f"'\\x{text.encode().hex()}'::bytea")


def claims_json(claims):
    """Epochs in both spellings: a string and a number."""
    return json.dumps([{**one, "epoch": str(one["epoch"]) if at % 2 else one["epoch"]}
                       for at, one in enumerate(claims)], ensure_ascii=False)


def array(kind, value, engine):
    if kind == "idxs":
        items = ", ".join("NULL" if item is None else str(item) for item in value)
        return quoted(json.dumps(value)) if engine == "sqlite" else f"ARRAY[{items}]::bigint[]"
    items = ", ".join(bytes_literal(item, engine) for item in value)
    if engine == "sqlite":
        return f"fence_blobs({items})" if value else "X''"
    return f"ARRAY[{items}]::bytea[]"


def literal(kind, value, engine):
    if value is None:
        return "NULL"
    if kind == "writer":
        return quoted(WRITERS.get(value, value))
    if kind == "bytes":
        return bytes_literal(value, engine)
    if kind in ("idxs", "payloads"):
        return array(kind, value, engine)
    if kind == "claims":
        return quoted(claims_json(value))
    if isinstance(value, bool):
        return str(int(value)) if engine == "sqlite" else str(value).lower()
    return str(value) if isinstance(value, int) else quoted(value)


def literals(kinds, values, engine):
    return "(" + ", ".join(literal(*pair, engine) for pair in zip(kinds, values)) + ")"


def sql_of(step, engine):
    call = step[0]
    if call in TRANSACTION:
        return call if step[1:] == ["IMMEDIATE"] and engine != "sqlite" else " ".join(step)
    if call in VIEWS:
        return f"SELECT {COLUMNS[call]} FROM {call}"
    if call == "insert_fenced_append":
        rows = ", ".join(literals(kinds_of(call), row, engine) for row in step[1:])
        return ("INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)"
                f" VALUES {rows}")
    call_sql = call + literals(kinds_of(call), step[1:], engine)
    return f"SELECT {COLUMNS[call]} FROM {call_sql}" if call in COLUMNS else f"SELECT {call_sql}"
