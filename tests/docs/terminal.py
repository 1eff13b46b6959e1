"""A person at a terminal: runs a command in one, and types the next answer whenever the command asks for something.

    terminal.py "accept,yes,moved away" scripts/call delete_account userId=ada

What the terminal shows is printed, the typed answers among it. Ends as the command does.
"""
import os
import pty
import select
import sys
import time

PATIENCE_S = 30  # for the whole of it


def main(answers, command):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown, asked_at, until = b"", 0, time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
        prompt = shown[asked_at:].rsplit(b"\n", 1)[-1]
        if answers and prompt.endswith((b"? ", b": ")):
            os.write(terminal, answers.pop(0).encode() + b"\n")
            asked_at = len(shown)
    sys.stdout.write(shown.decode().replace("\r\n", "\n"))
    sys.stdout.flush()
    if time.monotonic() >= until:
        os.kill(pid, 9)
    if answers:
        sys.exit(f"terminal: nobody asked for: {', '.join(answers)}")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main(sys.argv[1].split(","), sys.argv[2:])
