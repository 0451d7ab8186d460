"""A protected table of the tests that run beside each other: each has a key of its own in it."""
from scene import owner

TABLE = """
    CREATE TABLE job (id text NOT NULL, part int NOT NULL, v text NOT NULL, PRIMARY KEY (id, part));
    SELECT fence.fence_protect('job', 'n', '["id"]')"""


def make_table(server):
    if server.sql("SELECT to_regclass('job') IS NULL") == "t":
        server.sql(TABLE)


def assert_sql(scene, epoch, key=None):
    return f"SELECT fence.fence_assert('n', '{key or scene.key}', {epoch}, '{owner(epoch)}')"


def update_sql(scene, value, part=1):
    return f"UPDATE job SET v = '{value}' WHERE id = '{scene.key}' AND part = {part}"


def write(scene, epoch, value, part=1, by=None):
    """A transaction of its own."""
    with (by or scene.observer).transaction():
        (by or scene.observer).execute(assert_sql(scene, epoch))
        (by or scene.observer).execute(
            "INSERT INTO job VALUES (%s, %s, %s) ON CONFLICT (id, part) DO UPDATE SET v = EXCLUDED.v",
            [scene.key, part, value])


def rows(scene):
    found = scene.observer.execute("SELECT part, v FROM job WHERE id = %s ORDER BY part", [scene.key])
    return found.fetchall()
