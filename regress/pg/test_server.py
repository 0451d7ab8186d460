"""The throw-away server itself: what the other tests rely on."""
from pgserver import Server


def test_extension_is_created(server):
    assert server.sql("SELECT count(*) FROM pg_extension WHERE extname = 'fence'") == "1"


def test_clients_reach_nothing_else(server):
    assert server.sql("SHOW listen_addresses") == ""
    assert server.folder.stat().st_mode & 0o077 == 0


def test_data_outlive_kill9():
    with Server(conf={"fsync": "on"}) as server:
        server.sql("CREATE TABLE kept AS SELECT 1 AS a")
        server.kill9()
        assert server.pid() is None
        server.start()
        assert server.sql("TABLE kept") == "1"


def test_settings_reach_new_sessions():
    with Server(extension=False) as server:
        server.conf(work_mem="7MB", fence__evict_after="50")
        assert server.sql("SHOW work_mem") == "7MB"
        assert server.sql("SHOW fence.evict_after") == "50"
        server.conf(work_mem=None)
        assert server.sql("SHOW work_mem") == "4MB"
        server.restart()
        assert "database system is shut down" in server.log()
