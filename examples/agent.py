#!/usr/bin/env python3
"""A whole agent without a model: it works on the goal of a run and ends the run.

Muster starts it, as runs.toml in the storage folder says:

    [profiles.custom.example]
    command = ["python3", "/the/path/of/examples/agent.py"]

and uses it in the graph examples/agent.toml:

    muster run start 'Greet the reader in hello.txt' --graph examples/agent.toml --no-questions

docs/programs.md describes every message. Only `prompt` has to be understood; the rest makes an agent
that a person can watch and steer.
"""

import json
import os
import sys


def send(message):
    print(json.dumps(message), flush=True)


def messages():
    for line in sys.stdin:
        yield json.loads(line)


class Ended(Exception):
    """A person interrupted the turn, or Muster has no more work."""


class Turn:
    """One prompt and everything until its last message."""

    def __init__(self, prompt, heard):
        self.id = prompt["turnId"]
        self.heard = heard
        self.calls = 0

    def say(self, text):
        send({"type": "message.assistant.delta", "turnId": self.id, "delta": text})

    def plan(self, *items):
        items = [{"title": title, "status": status} for title, status in items]
        send({"type": "plan", "turnId": self.id, "items": items})

    def call(self, name, **args):
        """Calls one of Muster's tools and waits for its result."""
        self.calls += 1
        call = f"{self.id}-{self.calls}"
        send({"type": "tool.call", "turnId": self.id, "id": call, "name": name, "args": args})
        for message in self.heard:
            if message["type"] == "tool.result" and message["toolId"] == call:
                return message["result"]
            if message["type"] in ("interrupt", "shutdown"):
                raise Ended
            answer_ping(message)
        raise Ended

    def end(self, text, status="final"):
        final = {"type": "message.assistant.final", "turnId": self.id}
        send(final | {"content": text, "status": status})


def answer_ping(message):
    if message["type"] == "ping":
        send({"type": "pong", "n": message["n"]})


def work(turn):
    """What a model would decide: here it is always the same."""
    write, finish = "Write the greeting", "End the run"
    if os.path.exists("hello.txt"):
        return "The greeting is written; nothing is left to do."
    turn.plan((write, "in_progress"), (finish, "pending"))
    turn.say("I write hello.txt. ")
    written = turn.call("write_file", path="hello.txt", content="Hello!\n")
    if not written.get("ok"):
        return f"It could not be written: {written}"
    turn.plan((write, "completed"), (finish, "in_progress"))
    # Checks of the run decide whether it is done; if one fails, its output is the next prompt.
    turn.call("complete_run", summary="hello.txt greets the reader.")
    turn.plan((write, "completed"), (finish, "completed"))
    return "The run can end."


def main():
    heard = messages()
    for message in heard:
        if message["type"] == "init":
            send({"type": "ready", "protocol": 1, "caps": {"interrupt": True, "streaming": True}})
        elif message["type"] == "prompt":
            turn = Turn(message, heard)
            try:
                turn.end(work(turn))
            except Ended:
                turn.end("", status="interrupted")
        elif message["type"] == "shutdown":
            return
        else:
            answer_ping(message)


if __name__ == "__main__":
    main()
