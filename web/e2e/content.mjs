// Realistic work and a session, for scenarios and screenshots.

/** Creates plans, tasks, steps, evidence and reasoning in one workspace; returns a function that calls operations. */
export async function fillWork(server, workspace = "harbour") {
  const op = async (name, input) => {
    const answer = await server.call("POST", `/api/ops/${name}`, { workspace, ...input });
    return answer.result;
  };
  const gate = (title, criteria, tests, more = {}) => ({ title, success_criteria: criteria, tests, ...more });
  const first = await op("tasks_macro_start", {
    plan_title: "Upload pipeline that survives restarts",
    task_title: "Resume uploads after a lost connection",
    description:
      "Uploads over 100 MB fail for good when the line drops. The server keeps what it has and tells the client where to go on.",
    steps: [
      gate(
        "Keep received parts on disk",
        ["Parts survive a kill of the server", "No part is stored twice"],
        ["cargo nextest run parts::"],
        { proof_modes: { tests: "require" } },
      ),
      gate("Answer where an upload stands", ["HEAD names the next byte"], ["curl -I against a half upload"]),
      gate("Client goes on by itself", ["Three drops in one upload end well"], ["npm test -- resume"], {
        proof_modes: { tests: "require" },
        blockers: ["Needs the staging proxy"],
      }),
      gate("Write the operator's page", ["Limits and clean-up are described"], ["Links checked"]),
    ],
  });
  const task = first.task_id;
  const plan = first.plan_id;
  await op("tasks_edit", { task, priority: "HIGH", tags: ["upload", "reliability"], new_domain: "storage" });
  await op("tasks_edit", { plan, description: "Large uploads must never start over." });
  await op("tasks_contract", {
    plan,
    current: "An upload that was acknowledged is never lost, whatever ends: line, client or server.",
  });
  await op("tasks_plan", {
    plan,
    steps: ["Agree on the protocol", "Server side", "Client side", "Load test"],
    current: 1,
  });
  await op("tasks_decompose", {
    task,
    parent: "s:2",
    steps: [
      gate("Back off between tries", ["Never more than one try a second"], ["Fake clock test"]),
      gate("Show progress that is true", ["Bar never goes back"], ["Screenshot test"]),
    ],
  });
  await op("tasks_macro_close_step", {
    task,
    path: "s:0",
    note: "Parts are written with their hash as name, so a repeat is a no-op.",
    proof: {
      items: [
        {
          kind: "command",
          title: "Test run",
          command: "cargo nextest run parts::",
          stdout:
            "PASS parts::survive_kill (0.412s)\nPASS parts::no_doubles (0.038s)\n     Summary 14 tests run: 14 passed",
          exit_code: 0,
        },
      ],
      checks: ["CMD: cargo nextest run parts::", "LINK: https://ci.example.org/runs/4711"],
    },
  });
  await op("tasks_verify", { task, path: "s:1", checkpoints: { criteria: true } });
  await op("tasks_evidence_capture", {
    task,
    path: "s:1",
    items: [
      {
        kind: "diff",
        title: "HEAD answers Upload-Offset",
        diff: '--- a/src/upload.rs\n+++ b/src/upload.rs\n@@ -40,6 +40,9 @@\n fn head(&self) -> Response {\n-    Response::no_content()\n+    Response::no_content()\n+        .header("Upload-Offset", self.offset)\n }',
      },
    ],
    checks: ["Reviewed by a second pair of eyes"],
  });
  await op("tasks_note", {
    task,
    path: "s:2",
    note: "The proxy of staging closes idle lines after 30 s; waiting for operations.",
  });
  await op("tasks_block", { task, path: "s:2", blocked: true, reason: "Staging proxy closes idle connections" });
  await op("tasks_task_add", {
    task,
    parent_step: "s:1",
    title: "Offset in the body for old clients",
    status: "ACTIVE",
  });
  await op("think_pipeline", {
    task,
    frame: { title: "Where does an upload go on?", text: "The client cannot know what arrived. The server must say." },
    hypothesis: { title: "Byte offsets are enough", text: "Parts are contiguous, so one number says it all." },
    test: { title: "Kill the server in mid-part", text: "Offset must be the end of the last whole part." },
    evidence: { title: "14 of 14", text: "All kill tests end with a whole file." },
    decision: {
      title: "Offsets, not part lists",
      text: "Smaller answer, and old proxies pass the header on.",
      tags: ["protocol"],
    },
  });
  const limits = await op("tasks_macro_start", {
    plan,
    task_title: "Limit what one client can hold open",
    template: "basic-task",
  });
  await op("tasks_edit", { task: limits.task_id, depends_on: [task], priority: "MEDIUM", tags: ["limits"] });
  const load = await op("tasks_macro_start", {
    plan,
    task_title: "Load test with 500 clients",
    template: "principal-task",
  });
  await op("tasks_edit", { task: load.task_id, depends_on: [limits.task_id], priority: "LOW", tags: ["speed"] });
  await op("tasks_macro_create_done", {
    plan,
    task_title: "Choose the protocol",
    steps: [gate("Compare two protocols", ["Both written down"], ["Read by two people"])],
  });
  const second = await op("tasks_macro_start", {
    plan_title: "Sign-in without passwords",
    task_title: "Passkeys for the admin page",
    template: "basic-task",
  });
  await op("tasks_edit", { task: second.task_id, priority: "CRITICAL", tags: ["security"] });
  await op("tasks_complete", { task: second.task_id, status: "ACTIVE" });
  return { op, workspace, task, plan, limits: limits.task_id };
}

/** A session of an agent at work: two turns, tools, a todo list, a sub-agent with a list of its own. */
export async function fillSession(server, title = "Make uploads resumable") {
  const { session_id: id } = await server.call("POST", "/sessions", { title, model: "example-large" });
  const say = (type, data) => server.call("POST", `/sessions/${id}/events`, { type, data });
  const todo = (items, more = {}) => ({ op: "replace", scopeKey: "main", scopeLabel: "main", items, ...more });
  const item = (key, text, status) => ({ id: key, title: text, status });
  await say("turn_start", { turn: 1 });
  await say("user_message", { text: "Uploads over 100 MB fail when the line drops. Make them resumable." });
  await say("assistant.reasoning.delta", {
    delta: "The server must keep parts; look at the storage code first.",
    message_id: "r1",
  });
  await say("assistant_message", {
    text: "I will look at how parts are stored, then plan the change.",
    message_id: "m1",
  });
  await say("tool_call", {
    call_id: "c1",
    tool: "read_file",
    call: { name: "read_file", arguments: { path: "src/upload.rs" } },
  });
  await say("tool_result", {
    call_id: "c1",
    tool: "read_file",
    status: "ok",
    error: false,
    success: true,
    result: "pub struct Upload {\n    parts: Vec<Part>,\n    offset: u64,\n}",
  });
  await say("tool_call", {
    call_id: "c2",
    tool: "todo_write",
    call: { name: "todo_write", arguments: {} },
    todo: todo([
      item("a", "Keep parts on disk", "in_progress"),
      item("b", "Answer where an upload stands", "todo"),
      item("c", "Client goes on by itself", "todo"),
      item("d", "Operator's page", "todo"),
    ]),
  });
  await say("tool_call", {
    call_id: "c3",
    tool: "shell",
    call: { name: "shell", arguments: { command: "cargo nextest run parts::" } },
  });
  await say("tool_result", {
    call_id: "c3",
    tool: "shell",
    status: "error",
    error: true,
    success: false,
    message: "1 test failed: parts::no_doubles",
  });
  await say("task_event", {
    kind: "task_spawned",
    task_id: "explore-1",
    status: "running",
    description: "Find every caller of Upload::finish",
    lane_id: "explore-1",
    lane_label: "explorer",
    todo: {
      op: "replace",
      items: [item("x", "Search callers", "done"), item("y", "Read the retry loop", "in_progress")],
    },
  });
  await say("warning", { message: "The working tree has changes that nobody committed." });
  await say("handoff", {
    from: "implementer",
    to: "reviewer",
    message: "Parts are hashed now. Please look at the naming of files on disk.",
  });
  await say("evidence", { summary: "14 of 14 tests pass", checks: ["CMD: cargo nextest run parts::"] });
  await say("turn_end", { turn: 1, status: "completed" });
  await say("turn_start", { turn: 2 });
  await say("user_message", { text: "Good. Now the client side." });
  await say("assistant_message", {
    text: "The client asks with HEAD, reads Upload-Offset and sends the rest.\n\n- one try a second at most\n- the bar never goes back\n\n```\nHEAD /uploads/42\nUpload-Offset: 1048576\n```",
    message_id: "m2",
  });
  return { id, say, todo, item };
}
