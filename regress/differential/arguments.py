"""What calls take: the model as SQL reaches it, with whatever arguments."""
import hashlib
import re

from model import MAX, Model, Refused, demand

UUID = re.compile(r"(\{)?((?:[0-9a-f]{4}-?){7}[0-9a-f]{4})(?(1)\})")
VIEWS = ("oplog_metadata", "oplog_entries", "oplog_status", "fenced_values", "fence_namespaces")
OWNER = ["name", "name", "epoch", "writer"]
# The kinds of a call's arguments (KINDS), then what it is: a read; a question of ownership,
# which needs an epoch in every mode; alone, a transaction of its own.
CALLS = {
    "oplog_metadata_upsert": (OWNER, "owner alone"),
    "try_oplog_metadata_upsert": (OWNER, "owner alone"),
    "oplog_metadata_upsert_many": (["name", "claims", "writer"], "owner alone"),
    "fenced_append": (OWNER + ["number", "bytes"], ""),
    "insert_fenced_append": ([], ""),
    "fenced_append_many": (OWNER + ["idxs", "payloads", "last"], ""),
    "fence_check": (OWNER, "owner"),
    "fenced_drop_prefix": (OWNER + ["number"], ""),
    "fenced_delete": (OWNER, "alone"),
    "fenced_put": (OWNER + ["name", "bytes"], ""),
    "fenced_remove": (OWNER + ["name"], ""),
    "fenced_publish": (OWNER + ["name", "name", "number"], "alone"),
    "fence_namespace_set": (["name", "mode", "flag", "any"], "alone"),
    "fence_purge": (["name", "number"], "alone"),
    "fence_reset": (["name", "name", "number"], "alone"),
    "oplog_read": (["name", "name", "bound", "bound", "bound"], "read"),
    "oplog_keys": (["name", "text", "text", "bound"], "read"),
    **{view: ([], "read") for view in VIEWS},
}


def is_text(value, least=1):
    return isinstance(value, str) and least <= len(value.encode()) <= 255 and "\0" not in value


def is_number(value, least=0):
    return isinstance(value, int) and least <= value <= MAX


def is_list(value, fits, name=lambda item: item):
    return (isinstance(value, list) and all(fits(item) for item in value)
            and len({name(item) for item in value}) == len(value))


KINDS = {
    "name": is_text, "number": is_number, "any": lambda _: True, "writer": lambda _: True,
    "text": lambda value: value is None or is_text(value, 0),
    "bound": lambda value: value is None or is_number(value),
    "epoch": lambda value: value is None or is_number(value),
    "last": lambda value: value is None or is_number(value, -1),
    "bytes": lambda value: isinstance(value, bytes),
    "mode": lambda value: value in ("required", "unfenced", "optional"),
    "flag": lambda value: isinstance(value, bool),
    "idxs": lambda value: is_list(value, is_number),
    "payloads": lambda value: isinstance(value, list),
    "claims": lambda value: is_list(value, lambda one: is_text(one["key"])
                                    and is_number(one["epoch"]), lambda one: one["key"]),
}


def fingerprint(writer):
    found = UUID.fullmatch(writer.lower()) if isinstance(writer, str) else None
    demand(found)
    return hashlib.sha256(bytes.fromhex(found[2].replace("-", ""))).hexdigest()[:8]


class Contract(Model):
    def call(self, name, *given):
        """A refused call leaves nothing behind; a doomed transaction refuses all that act."""
        is_a = CALLS[name][1]
        demand(not self.doomed or is_a == "read", "ZF009", **getattr(self.doomed, "detail", {}))
        before = self.now
        try:
            result = getattr(self, name)(*self.identify(name, list(given)))
        except Refused:
            self.now = before
            raise
        if not self.stack:
            self.now = self.now._replace(asserted={})
        return result

    def identify(self, name, given):
        """ZF010, then ZF012; the writer's fingerprint takes the writer's place."""
        kinds, is_a = CALLS[name]
        demand(all(KINDS[kind](value) for kind, value in zip(kinds, given)))
        demand(name != "fenced_append_many" or len(given[4]) == len(given[5]))
        demand(name != "fenced_publish" or given[:2] != given[4:6])
        if "writer" in kinds:
            mode, at = self.namespace(given[0]).mode, kinds.index("writer")
            epoch = given[2] if "epoch" in kinds else 0
            if epoch is None and is_a in ("", "alone") and mode != "required":
                given[at] = None  # not looked at
            else:
                given[at] = fingerprint(given[at])
                demand(epoch is not None and mode != "unfenced", "ZF012")
        demand("alone" not in is_a or not self.stack, "ZF012")
        return [tuple(given[:2]), *given[2:]] if kinds[:2] == OWNER[:2] else given

    def insert_fenced_append(self, *rows):
        for row in rows:
            self.fenced_append(*self.identify("fenced_append", list(row)))
