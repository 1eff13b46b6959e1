"""A terminal for a command: what the command draws goes to standard output, and standard input says what is typed, in lines of JSON:

    ["type", "text"]      keys
    ["size", 24, 80]      the window gets another size

    pseudo_terminal.py ROWS COLUMNS COMMAND...

Ends as the command does. The end of standard input hangs up.
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE_S = 60


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def obey(terminal, line):
    what, *rest = json.loads(line)
    if what == "type":
        os.write(terminal, rest[0].encode())
    else:
        resize(terminal, *rest)


def main(rows, columns, command):
    pid, terminal = pty.fork()
    if pid == 0:
        resize(0, rows, columns)
        os.execvp(command[0], command)
    waiting, until, sources = b"", time.monotonic() + PATIENCE_S, [terminal, 0]
    while time.monotonic() < until:
        ready = select.select(sources, [], [], 1)[0]
        if terminal in ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            os.write(1, data)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:  # nobody types any more: the terminal is closed
                os.kill(pid, signal.SIGHUP)
                sources = [terminal]
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                obey(terminal, line)
    else:
        os.kill(pid, signal.SIGKILL)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
