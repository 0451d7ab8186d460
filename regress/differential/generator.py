"""Makes steps from a seed. It looks at the model, so that most calls are the owner's and
every way to success is walked often; what is left over is wrong in all ways."""
import random

from arguments import CALLS
from model import MAX
from steps import TOKENS

NAMESPACES = ("n", "m")
KEYS = ("k", "k1", "k%", "é")
NAMES = ("a", "b")
WRITERS = ("w1", "w2", "w3")
PAYLOADS = ("", "a", "b", "ß")
LONG = "y" * 3000  # beyond what PostgreSQL keeps in the row as it is
BAD_NAMES = (None, "", "x" * 256, "€" * 86)
BAD_WRITERS = (None, "", "me", "{w1", "e3e6ae2c")

OUTSIDE = {
    "oplog_metadata_upsert": 10, "try_oplog_metadata_upsert": 5, "oplog_metadata_upsert_many": 4,
    "fenced_append": 15, "insert_fenced_append": 6, "fenced_append_many": 9, "fence_check": 4,
    "fenced_drop_prefix": 4, "fenced_delete": 4, "fenced_put": 6, "fenced_remove": 5,
    "fenced_publish": 7, "fence_namespace_set": 2, "fence_purge": 0.7, "fence_reset": 2.5,
    "oplog_read": 4, "oplog_keys": 3, "BEGIN": 6,
}
INSIDE = {
    "fenced_append": 15, "insert_fenced_append": 6, "fenced_append_many": 9, "fence_check": 4,
    "fenced_drop_prefix": 4, "fenced_put": 6, "fenced_remove": 5, "oplog_read": 4, "oplog_keys": 3,
    "oplog_status": 1, "COMMIT": 5, "ROLLBACK": 2, "SAVEPOINT": 6, "ROLLBACK TO": 4, "RELEASE": 3,
    **{call: 0.4 for call, (_, is_a) in CALLS.items() if "alone" in is_a},
}
DOOMED = {**{call: 1 for call in CALLS}, "COMMIT": 6, "ROLLBACK": 3, "SAVEPOINT": 2,
          "ROLLBACK TO": 2, "RELEASE": 1}


class Generator:
    def __init__(self, seed, model, calls=None):
        self.random = random.Random(seed)
        self.model = model
        self.plan = []
        wanted = set(calls or CALLS)
        self.tables = [{call: weight for call, weight in table.items()
                        if call in wanted or call not in CALLS}
                       for table in (OUTSIDE, INSIDE, DOOMED)]

    def step(self):
        # Half a plan's steps are followed by something else, which may well upset it.
        if self.plan and not self.model.stack and self.chance(0.7):
            return self.plan.pop(0)
        table = self.tables[0 if not self.model.stack else 2 if self.model.doomed else 1]
        call = self.random.choices(list(table), table.values())[0]
        if call == "fenced_publish" and not self.model.stack and self.chance(0.4):
            self.plan = self.plan or self.publication()
            return self.plan.pop(0)
        return [call, *getattr(self, call.lower().replace(" ", "_"))()]

    def chance(self, share):
        return self.random.random() < share

    def pick(self, *values):
        return self.random.choice(values)

    # ---- arguments -----------------------------------------------------------------

    def where(self):
        where = (self.pick(*NAMESPACES), self.pick(*KEYS))
        if self.chance(0.015):
            bad = self.pick(*BAD_NAMES)
            return self.pick((bad, where[1]), (where[0], bad))
        return where

    def writer(self):
        return self.pick(*BAD_WRITERS) if self.chance(0.02) else self.pick(*WRITERS)

    def small(self):
        return self.random.randint(0, 6)

    def epoch_near(self, epoch):
        if self.chance(0.03):
            return self.pick(-1, -MAX, None, None)
        if self.chance(0.01):
            return MAX
        return self.pick(min(epoch + 1, MAX), max(epoch - 1, 0), max(epoch, 0), self.small())

    def owner(self, where):
        """(epoch, writer) of a write."""
        key, mode = self.model.key(where), self.model.namespace(where[0]).mode
        if self.chance({"required": 0.02, "optional": 0.4, "unfenced": 0.8}[mode]):
            return None, self.pick(None, "me", self.writer())
        token = TOKENS.get(key.writer)
        asserted = self.model.now.asserted.get(where)
        if asserted is not None and self.chance(0.15):
            return min(asserted + self.pick(0, 1), MAX), self.pick(*WRITERS)
        if token is None or self.chance(0.2):
            return self.epoch_near(key.epoch), self.pick(token or "w1", self.writer())
        if self.chance(0.06):
            return key.epoch, self.pick(*WRITERS)
        return key.epoch, self.pick(token, token, f"{{{token}}}")

    def claimant(self, where):
        key = self.model.key(where)
        token = TOKENS.get(key.writer)
        floor = self.model.namespace(where[0]).floor if key.standing() == "none" else key.epoch
        if self.chance(0.55):
            return min(floor + self.pick(1, 1, 2), MAX), self.writer()
        if token and self.chance(0.3):
            return key.epoch, token
        return self.epoch_near(floor), self.writer()

    def written(self):
        where = self.where()
        # A key without an owner refuses all but a claim: that is soon seen enough of.
        if self.model.key(where).standing() != "owned" and self.chance(0.6):
            where = self.where()
        return [*where, *self.owner(where)]

    def payload(self):
        if self.chance(0.02):
            return self.pick(None, LONG)
        return self.pick(*PAYLOADS)

    def entry(self, where):
        """(idx, payload): the next one, a repeat, or any."""
        key = self.model.key(where)
        if self.chance(0.02):
            return self.pick(None, -1, -MAX), self.payload()
        if key.entries and self.chance(0.3):
            idx = self.pick(*key.entries)
            same = key.entries[idx][1].decode()
            return idx, same if self.chance(0.7) else self.payload()
        if self.chance(0.6) and key.last < MAX:
            return max(key.last + 1, 1), self.payload()
        return MAX if self.chance(0.01) else self.random.randint(0, 8), self.payload()

    # ---- calls ---------------------------------------------------------------------

    def oplog_metadata_upsert(self):
        where = self.where()
        return [*where, *self.claimant(where)]

    try_oplog_metadata_upsert = oplog_metadata_upsert

    def oplog_metadata_upsert_many(self):
        namespace, claims = self.pick(*NAMESPACES), []
        for key in self.random.sample(KEYS, self.random.randint(0, 3)):
            epoch = self.claimant((namespace, key))[0]
            claims.append({"key": key, "epoch": 0 if epoch is None else epoch})
        if self.chance(0.08):
            return [self.pick(None, namespace),
                    self.pick(None, [{"key": "", "epoch": 1}], claims * 2,
                              [*claims, {"key": "new", "epoch": 2**63}]), self.writer()]
        return [namespace, claims, self.writer()]

    def fenced_append(self):
        who = self.written()
        return [*who, *self.entry(tuple(who[:2]))]

    def insert_fenced_append(self):
        rows = [self.fenced_append() for _ in range(self.random.randint(1, 4))]
        if self.chance(0.6):  # one owner's, as a batch is
            who = self.written()
            rows = [[*who, *self.entry(tuple(who[:2]))] for _ in rows]
            for at, row in enumerate(rows):
                if isinstance(row[4], int) and self.chance(0.5) and row[4] < MAX - at:
                    row[4] += at
        return rows

    def fenced_append_many(self):
        who = self.written()
        key = self.model.key(tuple(who[:2]))
        entries = dict(self.entry(tuple(who[:2])) for _ in range(self.random.randint(0, 4)))
        if self.chance(0.6) and key.last < MAX - 4:
            entries = {key.last + 1 + at: self.pick(*PAYLOADS)
                       for at in range(self.random.randint(1, 3))}
        entries = {idx: payload or "" for idx, payload in entries.items()}
        idxs, payloads = list(entries), list(entries.values())
        if self.chance(0.05):
            idxs = self.pick(None, idxs + [3], idxs * 2)
            payloads = self.pick(None, payloads, payloads * 2)
        return [*who, idxs, payloads,
                *self.pick([], [None], [key.last], [self.random.randint(-2, 8)])]

    def fence_check(self):
        where = self.where()
        return [*where, *(self.owner(where) if self.chance(0.8) else self.claimant(where))]

    def fenced_drop_prefix(self):
        who = self.written()
        last = self.model.key(tuple(who[:2])).last
        return [*who, self.pick(max(last, 0), max(last - 1, 0), self.random.randint(0, 8),
                                self.pick(0, MAX, -1, None))]

    def fenced_delete(self):
        return self.written()

    def name(self):
        return self.pick(*BAD_NAMES) if self.chance(0.02) else self.pick(*NAMES)

    def fenced_put(self):
        who, name = self.written(), self.name()
        values = self.model.key(tuple(who[:2])).values
        same = name in values and self.chance(0.4)
        return [*who, name, values[name][1].decode() if same else self.payload()]

    def fenced_remove(self):
        return [*self.written(), self.name()]

    def fenced_publish(self):
        who, staged = self.written(), self.where()
        key = self.model.key(staged)
        known = [key.published[1]] if key.published else [len(key.entries)]
        if key.published and self.chance(0.5):
            target = key.published[0]
            who = [*target, *self.owner(target)]
        return [*who, *staged, self.pick(*known, *known, self.small(), self.pick(-1, None, MAX))]

    def publication(self):
        """All that leads to a published log, and the repeat of it."""
        staged, target = self.random.sample([(namespace, key) for namespace in NAMESPACES
                                             for key in KEYS], 2)
        epoch = 1 + max(self.model.namespace(where[0]).floor if key.standing() == "none"
                        else key.epoch for where in (staged, target)
                        for key in [self.model.key(where)])
        count, writer = self.random.randint(1, 3), self.pick(*WRITERS)
        if epoch > MAX - 2:
            return [["fence_purge", target[0], 0]]
        plan, last = [], None
        for where in (staged, target):
            mode, key = self.model.namespace(where[0]).mode, self.model.key(where)
            last = None if mode == "unfenced" else epoch
            if last is not None:
                plan.append(["oplog_metadata_upsert", *where, epoch, writer])
            if key.last >= 0 or key.mark >= 0:
                plan.append(["fenced_delete", *where, last, writer])
                last = last and last + 1
                if last:
                    plan.append(["oplog_metadata_upsert", *where, last, writer])
            if where == staged:
                plan.append(["fenced_append_many", *where, last, writer,
                             list(range(1, count + 1)), [self.pick(*PAYLOADS)] * count])
                if self.chance(0.3):  # any epoch may have none
                    plan.append(["fenced_put", *where, last, writer, "a", "staged"])
        # Both must be owned alike; where one was claimed twice, so is the other.
        plan += [["oplog_metadata_upsert", *where, epoch + 1, writer] for where in (staged, target)
                 if last is not None]
        last = last and epoch + 1
        if self.chance(0.2):  # a target that is empty now, but was not
            plan += [["fenced_append", *target, last, writer, 1, "a"],
                     ["fenced_drop_prefix", *target, last, writer, 1]]
        publish = ["fenced_publish", *target, last, writer, *staged, count]
        return [*plan, publish, publish, [*publish[:-1], count + 1]]

    def fence_namespace_set(self):
        namespace = "m" if self.chance(0.8) else "n"
        mode = "required" if namespace == "n" else self.pick("required", "unfenced", "optional")
        if self.chance(0.1):
            return self.pick([None, mode], ["", mode], [namespace, "off"], [namespace, None],
                             [namespace, mode, None], [namespace, mode, True, "space"])
        return [namespace, mode, *self.pick([], [self.chance(0.5)], [self.chance(0.5), None])]

    def fence_purge(self):
        return [self.where()[0], self.pick(0, 0, 0, MAX, 10**12, self.pick(-1, None))]

    def fence_reset(self):
        where = self.where()
        epoch = self.model.key(where).epoch
        # From the ceiling nothing else leads back.
        far = [other for other, key in self.model.now.keys.items() if key.epoch > MAX - 9]
        if far and self.chance(0.7):
            return [*self.pick(*far), self.small()]
        return [*where, self.pick(max(epoch - 1, 0), max(epoch - 1, 0), max(epoch, 0),
                                  self.small(), -1)]

    def oplog_read(self):
        return [*self.where(), *self.pick(
            [], [self.small()], [0, self.small()], [1, None, self.pick(0, 1, 2, None)],
            [self.pick(-1, MAX, None)], [0, MAX, self.pick(-1, MAX, 3)])]

    def oplog_keys(self):
        prefix = self.pick("", "k", "k%", "%", "_", "é", None, self.pick("x" * 256, "K", "k1x"))
        after = self.pick(None, None, "", "k", "k1", "z", "x" * 256)
        return [self.where()[0], *self.pick([], [prefix], [prefix, after], [
            prefix, after, self.pick(0, 1, 2, None, -1, MAX)])]

    # ---- transactions --------------------------------------------------------------

    def begin(self):
        return self.pick([], ["IMMEDIATE"])

    def commit(self):
        return []

    rollback = oplog_metadata = oplog_status = oplog_entries = commit
    fenced_values = fence_namespaces = commit

    def savepoint(self):
        return [self.pick("s", "t")]

    def rollback_to(self):
        return [self.pick(*[name for name, _ in self.model.stack[1:]] or ["none"])]

    release = rollback_to
