"""A client in a process of its own, which tests stop by SIGSTOP and let go on. It runs
the statements that come on its standard input, a line each, and answers with a line: the
first column of the first row, or the SQLSTATE of the error.

Called with a connection string, it is that process; Client starts it."""
import os
import signal
import subprocess
import sys

import psycopg

PYTHON = "/usr/bin/python3"


class Client:
    def __init__(self, server, name="client"):
        command = [PYTHON, __file__, server.dsn(application_name=name)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid = int(self.answer())  # of its server process

    def send(self, sql):
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, sql):
        self.send(sql)
        return self.answer()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def run(connection, sql):
    try:
        found = connection.execute(sql)
        return str(found.fetchone()[0]) if found.description else "done"
    except psycopg.Error as error:
        return error.sqlstate or "no connection"


def main():
    connection = psycopg.connect(sys.argv[1], autocommit=True)
    print(connection.info.backend_pid, flush=True)
    for line in sys.stdin:
        print(run(connection, line), flush=True)


if __name__ == "__main__":
    main()
