"""The official Python client: python_client.py auto|legacy stdio PROGRAM ARGUMENTS... | http URL TOKEN"""

import asyncio
import json
import sys
from urllib.parse import quote

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

WORKSPACE = "outside/python"
HINTS = ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint")


class Report:
    """Counts checks and prints one line for each."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    async def check(self, what, holds):
        try:
            verdict = await holds()
            if verdict is not True:
                raise AssertionError(f"got {verdict!r}")
        except Exception as error:  # every failure of a check is reported, whatever it is
            self.failed += 1
            print(f"FAILED  {what}: {error!r}")
        else:
            self.passed += 1
            print(f"ok      {what}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.passed and not self.failed else 1


def envelope(result, modern):
    """The envelope of a tool result.

    Text and structure say the same in the older revisions; in the modern one the text is one line,
    which of a refusal has the code, the message and the recovery.
    """
    text = result.content[0].text
    structure = result.structured_content
    if modern:
        error = structure["error"]
        parts = [error[key] for key in ("code", "message", "recovery")] if error else [": ok"]
        assert "\n" not in text and all(part in text for part in parts), f"the text is {text}"
    else:
        assert json.loads(text) == structure, "text and structured content differ"
    assert result.is_error is (not structure["success"]), f"isError is {result.is_error}"
    return structure


class Story:
    """List, create, be refused, close, read."""

    def __init__(self, client, modern):
        self.client = client
        self.modern = modern
        self.plan = self.task = self.step = None

    async def call(self, name, **arguments):
        arguments = {"workspace": WORKSPACE, **arguments}
        return envelope(await self.client.call_tool(name, arguments), self.modern)

    async def tools_are_listed_with_schemas_and_hints(self):
        tools = (await self.client.list_tools()).tools
        bare = [
            tool.name
            for tool in tools
            if any(getattr(tool.annotations, hint, None) is None for hint in HINTS)
            or (tool.output_schema or {}).get("type") != "object"
        ]
        return bare or "tasks_create" in {tool.name for tool in tools}

    async def a_plan_is_created(self):
        answer = await self.call("tasks_create", kind="plan", title="Outside plan")
        self.plan = answer["result"]["id"]
        return answer["success"]

    async def a_task_with_steps_is_created(self):
        steps = [
            {"title": "First", "success_criteria": ["it runs"], "tests": ["run it"]},
            {"title": "Second", "success_criteria": []},
        ]
        answer = await self.call("tasks_create", parent=self.plan, title="Task", steps=steps)
        self.task = answer["result"]["id"]
        self.step = answer["result"]["steps"][0]["step_id"]
        return len(answer["result"]["steps"]) == 2

    async def an_unconfirmed_step_is_refused_as_a_result(self):
        refusal = await self.call("tasks_done", task=self.task, step_id=self.step)
        return refusal["error"]["code"] == "CHECKPOINTS_NOT_CONFIRMED"

    async def a_confirmed_step_is_closed(self):
        step = {"task": self.task, "step_id": self.step}
        answer = await self.call("tasks_close_step", **step, checkpoints="gate")
        return answer["result"]["step"]["step_id"] == self.step

    async def an_unknown_argument_is_refused_as_a_result(self):
        refusal = await self.call("tasks_radar", taks=self.task)
        return refusal["error"]["code"] == "INVALID_INPUT"

    async def an_unknown_tool_is_a_protocol_error(self):
        try:
            await self.client.call_tool("tasks_creat", {"workspace": WORKSPACE})
        except MCPError as error:
            return "tasks_create" in str(error)
        return "no error"

    async def the_task_can_be_read_as_a_resource(self):
        uri = f"muster://workspace/{quote(WORKSPACE, safe='')}/task/{self.task}"
        contents = (await self.client.read_resource(uri)).contents[0]
        return isinstance(json.loads(contents.text), dict)

    async def a_prompt_is_written(self):
        arguments = {"task": self.task, "workspace": WORKSPACE}
        prompt = await self.client.get_prompt("resume_work", arguments)
        return self.task in prompt.messages[0].content.text


async def play(server, mode):
    report = Report()
    modern = mode == "auto"
    async with Client(server, mode=mode) as client:

        async def era():
            speaks_modern = client.protocol_version >= "2026-07-28"
            return speaks_modern is modern or client.protocol_version

        await report.check(f"the {mode} connection speaks the era it should", era)
        story = Story(client, modern)
        for name, chapter in Story.__dict__.items():
            if not name.startswith("_") and name != "call":
                await report.check(name.replace("_", " "), chapter.__get__(story))
    return report.finish()


async def main(mode, transport, *rest):
    if transport == "stdio":
        return await play(StdioServerParameters(command=rest[0], args=list(rest[1:])), mode)
    url, token = rest
    headers = {} if token == "-" else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http_client:
        return await play(streamable_http_client(url, http_client=http_client), mode)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
