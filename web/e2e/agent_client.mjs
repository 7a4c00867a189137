// An agent at work: a real `muster mcp` process, and the calls that a client sends to it.

export class AgentClient {
  /** Starts `muster mcp` in a folder, under the name that the client gives itself. */
  static async connect(stage, folder, clientInfo = { name: "claude-code", version: "2.1.0" }) {
    const program = stage.start(["mcp", "--storage-dir", stage.storage], folder, "pipe");
    const agent = new AgentClient(program);
    await agent.#send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    agent.#write({ jsonrpc: "2.0", method: "notifications/initialized" });
    return agent;
  }

  constructor(program) {
    this.program = program;
    this.last = 0;
  }

  #write(message) {
    this.program.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async #send(method, params) {
    const id = ++this.last;
    this.#write({ jsonrpc: "2.0", id, method, params });
    const [line] = await this.program.line(new RegExp(`^.*"id":${id}[,}].*$`, "m"));
    const answer = JSON.parse(line);
    if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    return answer.result;
  }

  /** Calls a tool; returns its result, or throws what it was refused with. */
  async call(name, args) {
    const result = await this.#send("tools/call", { name, arguments: args });
    const answer = result.structuredContent ?? JSON.parse(result.content[0].text);
    if (result.isError || answer.success === false) throw new Error(`${name}: ${JSON.stringify(answer.error ?? answer)}`);
    return answer.result ?? answer;
  }
}
