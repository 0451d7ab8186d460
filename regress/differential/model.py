"""What the contract says about oplogs, as plain Python: no SQL, no locks, nothing on a disk.

A Model has a method for each SQL call and view, for arguments that are in range: `where`
is (namespace, key), writer a fingerprint, None where it is not looked at.
arguments.py has what comes before. Both are written from the contract alone, so that a
misreading shared by both engines still meets somebody who read it differently: take
nothing over from core/.
"""
from typing import NamedTuple, Optional

MAX = 2**63 - 1


class Refused(Exception):
    """A refusal. The detail has only the members that the contract fixes."""

    def __init__(self, code, /, **detail):
        super().__init__(code)
        self.code = code
        self.detail = {"code": code, **detail}  # of ZF009: that of the first refusal


def demand(condition, code="ZF010", /, **detail):
    if not condition:
        raise Refused(code, **detail)


class Key(NamedTuple):
    """A record with its log and values. Nothing in it is ever changed, only replaced."""
    epoch: int = -1               # without an owner the floor, -1 for none
    writer: Optional[str] = None  # fingerprint; None: nobody owns it
    deleted: bool = False
    entries: dict = {}            # idx: (epoch, payload)
    values: dict = {}             # name: (epoch, value)
    mark: int = -1                # nothing is stored at or below it again
    last: int = -1                # greatest idx ever, trimmed ones too
    published: Optional[tuple] = None  # (target, expected_last, epoch, owner)

    def standing(self):
        if self.writer is None and self.epoch == -1:
            return "none"
        return "floor" if self.deleted or self.writer is None else "owned"

    def gone(self):
        return self.deleted and self.standing() == "floor"

    def alive(self):
        """What a claim or an unfenced write goes on with."""
        return Key(self.epoch) if self.deleted else self


class Namespace(NamedTuple):
    mode: str = "required"
    identical_repeat: bool = False
    floor: int = -1


class State(NamedTuple):
    """Replaced as a whole, too, so that a savepoint need only keep it."""
    keys: dict = {}        # (namespace, key): Key
    namespaces: dict = {}  # name: Namespace, those ever set or purged in
    asserted: dict = {}    # (namespace, key): epoch, in the open transaction


class Model:
    def __init__(self):
        self.now = State()
        self.doomed = None  # the first refusal of ownership in the open transaction
        self.stack = []     # its BEGIN, as None, and savepoints: (name, state then)

    def savepoint(self, name):
        self.stack.append((name, self.now))

    def release(self, name):
        """Forgets the youngest savepoint of that name with all above it; the state then."""
        place = max(i for i, (each, _) in enumerate(self.stack) if each == name)
        then = self.stack[place][1]
        del self.stack[place:]
        return then

    def rollback_to(self, name):
        self.now = self.release(name)
        self.savepoint(name)

    def rollback(self):
        self.now, self.doomed = self.release(None), None

    def commit(self):
        first, then = self.doomed, self.release(None)
        self.doomed, self.now = None, then if first else self.now._replace(asserted={})
        demand(not first, "ZF009", **getattr(first, "detail", {}))

    def namespace(self, name):
        return self.now.namespaces.get(name, Namespace())

    def set_namespace(self, name, value):
        self.now = self.now._replace(namespaces={**self.now.namespaces, name: value})

    def key(self, where):
        return self.now.keys.get(where, Key(deleted=True))

    def set_key(self, where, value):
        self.now = self.now._replace(keys={**self.now.keys, where: value})

    def judge(self, where, epoch, writer, sent=None):
        """The verdict on an owner; none without an epoch. sent: the entries of an append."""
        key = self.key(where)
        known = {"asserted_epoch": epoch, "stored_epoch": None if key.epoch == -1 else key.epoch,
                 "namespace": where[0], "key": where[1]}
        if epoch is not None:
            demand(key.standing() == "owned", "ZF003", deleted=key.gone(), **known)
            if sent and epoch < key.epoch:
                known["already_stored"] = all(key.entries.get(idx) == (epoch, payload)
                                              for idx, payload in sent)
            demand(epoch >= key.epoch, "ZF001", **known)
            demand(epoch == key.epoch, "ZF004", **known)
            demand(writer == key.writer, "ZF002", **known)
        return key

    def enter(self, where, epoch, writer, sent=None):
        """Takes the right to write, for the rest of the transaction."""
        if epoch is not None:
            demand(self.now.asserted.get(where, epoch) == epoch, "ZF012")
            self.now = self.now._replace(asserted={**self.now.asserted, where: epoch})
        try:
            return self.judge(where, epoch, writer, sent)
        except Refused as refusal:
            self.doomed = refusal if self.stack else None
            raise

    def append(self, where, epoch, writer, rows):
        """Returns how many were new."""
        key = self.enter(where, epoch, writer, rows).alive()
        entries = dict(key.entries)
        for idx, payload in rows:
            stored = entries.setdefault(idx, (epoch, payload))
            same = epoch == stored[0] or self.namespace(where[0]).identical_repeat
            demand(idx > key.mark and same and payload == stored[1], "ZF013", asserted_epoch=epoch)
        last = max(key.last, *(idx for idx, _ in rows))
        self.set_key(where, key._replace(entries=entries, last=last))
        return len(entries) - len(key.entries)

    def oplog_metadata_upsert(self, where, epoch, writer):
        key = self.key(where)
        known = {"asserted_epoch": epoch, "key": where[1]}
        if key.standing() == "none":
            demand(epoch > self.namespace(where[0]).floor, "ZF001", **known)
        elif epoch <= key.epoch:
            known["stored_epoch"] = key.epoch
            demand(epoch == key.epoch and key.standing() == "owned", "ZF001", deleted=key.gone(),
                   **known)
            demand(writer == key.writer, "ZF002", **known)
        self.set_key(where, key.alive()._replace(epoch=epoch, writer=writer))
        return None if key.last == -1 else key.last

    def try_oplog_metadata_upsert(self, *who):
        try:
            return {"owned": True, "last": self.oplog_metadata_upsert(*who)}
        except Refused as refusal:
            return {"owned": False, **refusal.detail}

    def oplog_metadata_upsert_many(self, namespace, claims, writer):
        return [{"key": one["key"], "last": self.oplog_metadata_upsert(
            (namespace, one["key"]), one["epoch"], writer)} for one in claims]

    def fenced_append(self, where, epoch, writer, idx, payload):
        self.append(where, epoch, writer, [(idx, payload)])
        return idx

    def fenced_append_many(self, where, epoch, writer, idxs, payloads, expected_last=None):
        last = self.key(where).last
        stored = self.append(where, epoch, writer, list(zip(idxs, payloads))) if idxs else 0
        demand(not stored or expected_last in (None, last), "ZF013", asserted_epoch=epoch)
        return stored

    def fence_check(self, *who):
        return bool(self.judge(*who))

    def fenced_drop_prefix(self, where, epoch, writer, through_idx):
        key = self.enter(where, epoch, writer)
        mark = max(key.mark, min(through_idx, key.last))
        kept = {idx: entry for idx, entry in key.entries.items() if idx > mark}
        if not key.deleted:
            self.set_key(where, key._replace(mark=mark, entries=kept))
        return len(key.entries) - len(kept)

    def fenced_delete(self, where, epoch, writer):
        key = self.key(where)
        if not key.deleted or (key.epoch, key.writer) != (epoch, writer):
            self.judge(where, epoch, writer)
        if not key.deleted:
            self.set_key(where, Key(key.epoch, key.writer, deleted=True))
        return len(key.entries)

    def fenced_put(self, where, epoch, writer, name, value):
        key = self.enter(where, epoch, writer).alive()
        self.set_key(where, key._replace(values={**key.values, name: (epoch, value)}))
        return key.values.get(name) != (epoch, value)

    def fenced_remove(self, where, epoch, writer, name):
        key = self.enter(where, epoch, writer)
        if name in key.values:
            kept = {each: value for each, value in key.values.items() if each != name}
            self.set_key(where, key._replace(values=kept))
        return name in key.values

    def fenced_publish(self, target, epoch, owner, staged_namespace, staged_key, expected_last):
        staged = (staged_namespace, staged_key)
        demand(epoch is not None or self.namespace(staged_namespace).mode != "required", "ZF012")
        self.judge(target, epoch, owner)
        source, final = self.key(staged), self.key(target)
        call = (target, expected_last, epoch, owner)
        if source.published == call and final.last >= 0:
            return True
        if source.standing() == "owned":
            self.judge(staged, epoch, owner)
        if final.last >= 0:
            return False
        demand(0 < expected_last == len(source.entries) and min(source.entries) == 1
               and max(source.entries) == expected_last, "ZF013", key=staged_key)
        moved = {idx: (epoch, payload) for idx, (_, payload) in source.entries.items()}
        self.set_key(target, final.alive()._replace(entries=moved, last=expected_last))
        self.set_key(staged, Key(source.epoch, source.writer, deleted=True, published=call))
        return True

    def fence_namespace_set(self, name, mode, identical_repeat=False, shard_space=None):
        demand(shard_space is None, "ZF012")
        self.set_namespace(name, Namespace(mode, identical_repeat, self.namespace(name).floor))

    def fence_purge(self, namespace, older_than_ms):
        """There is no clock here: an age is 0, or more than any key reaches."""
        old = {where: key for where, key in self.now.keys.items()
               if where[0] == namespace and key.deleted and older_than_ms == 0}
        for key in old.values():
            had = self.namespace(namespace)
            self.set_namespace(namespace, had._replace(floor=max(had.floor, key.epoch)))
        self.now = self.now._replace(keys={where: key for where, key in self.now.keys.items()
                                           if where not in old})
        return len(old)

    def fence_reset(self, where, epoch):
        key = self.key(where)
        demand(key.epoch >= 0, "ZF003", key=where[1])
        demand(epoch < key.epoch)
        self.set_key(where, key._replace(epoch=epoch, writer=None))
        return key.epoch

    def oplog_read(self, where, from_idx=0, to_idx=None, at_most=None):
        entries = self.key(where).entries
        first, end = from_idx or 0, MAX if to_idx is None else to_idx
        return [(idx, *entries[idx]) for idx in sorted(entries)
                if first <= idx <= end][:1000 if at_most is None else at_most]

    def oplog_keys(self, namespace, prefix="", after=None, at_most=None):
        return [(key,) for (within, key), one in self.rows() if within == namespace
                and not one.deleted and key.startswith(prefix or "") and key > (after or "")
                ][:1000 if at_most is None else at_most]

    def rows(self):
        """In the order of bytes, which is that of code points."""
        return sorted(self.now.keys.items(), key=lambda row: row[0])

    def oplog_metadata(self):
        return [(*where, key.epoch, key.writer) for where, key in self.rows()
                if key.standing() == "owned"]

    def oplog_entries(self):
        return [(*where, idx, *key.entries[idx]) for where, key in self.rows()
                for idx in sorted(key.entries)]

    def oplog_status(self):
        return [(*where, None if key.epoch == -1 else key.epoch, key.writer,
                 min(key.entries, default=None), None if key.last == -1 else key.last,
                 len(key.entries), key.deleted) for where, key in self.rows()]

    def fenced_values(self):
        return [(*where, name, *key.values[name]) for where, key in self.rows()
                for name in sorted(key.values)]

    def fence_namespaces(self):
        return [(name, each.mode, each.identical_repeat, None,
                 None if each.floor == -1 else each.floor)
                for name, each in sorted(self.now.namespaces.items())]
