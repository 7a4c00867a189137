// One session live: transcript, todo lists, C-Tree summary. Panels that show the same session share it.
import { get } from "../../api/client";
import { SessionStream } from "../../api/events";
import type { StreamState } from "../../api/retry";
import type { Session, SessionEvent } from "../../api/wire";
import { applyConversation, NO_CONVERSATION, type Conversation } from "../../state/conversation";
import { applyCTree, hydrateCTree, NO_CTREE, type CTree } from "../../state/ctree";
import { applyTodos, NO_TODOS, reconnected, type Todos } from "../../state/todos";

/** Events of the first connection; more are loaded when the person asks for the beginning. */
const NEWEST = 2_000;
/** Events for panels without a transcript. */
const FEW = 1;
/** Event types that change the C-Tree summary. */
const TREE = new Set(["ctree_node", "ctree_snapshot", "task_event"]);
/** Event types that may change the session's own fields. */
const TELLING = new Set([
  "session.meta",
  "session.driver",
  "session.watched",
  "turn_start",
  "turn_end",
  "completion",
  "run_finished",
  "user_message",
]);

export class SessionState {
  session = $state.raw<Session | undefined>();
  conversation = $state.raw<Conversation>(NO_CONVERSATION);
  todos = $state.raw<Todos>(NO_TODOS);
  tree = $state.raw<CTree>(NO_CTREE);
  stream = $state.raw<StreamState>({ kind: "connecting" });
  #stream: SessionStream | undefined;
  #all = false;

  constructor(
    readonly id: string,
    private readonly events: number,
  ) {}

  start(): void {
    this.#open(this.#all ? 0 : this.events);
  }

  stop(): void {
    this.#stream?.close();
    this.#stream = undefined;
  }

  /** Loads the session from its first event. */
  whole(): void {
    this.#all = true;
    this.stop();
    this.start();
  }

  #open(newest: number): void {
    this.#stream = new SessionStream(
      this.id,
      {
        begun: () => this.#begin(),
        events: (batch, covered) => this.#take(batch, covered),
        state: (state) => (this.stream = state),
      },
      newest,
    );
  }

  #begin(): void {
    this.conversation = NO_CONVERSATION;
    this.todos = reconnected({ ...this.todos, handled: 0n, early: new Set() }, "gap");
    void this.#look();
    void get("/sessions/{id}/ctrees", { path: { id: this.id } })
      .then((answer) => (this.tree = hydrateCTree(this.tree, answer)))
      .catch(() => undefined);
  }

  async #look(): Promise<void> {
    try {
      this.session = await get("/sessions/{id}", { path: { id: this.id } });
    } catch {
      // The stream reports what is wrong.
    }
  }

  /** Lists and summary came with the connection, so earlier events only add to the transcript. */
  #take(batch: readonly SessionEvent[], covered: boolean): void {
    if (this.events > FEW) this.conversation = applyConversation(this.conversation, batch);
    let { todos, tree } = this;
    for (const event of batch) {
      if (!covered || event.seq === undefined) todos = applyTodos(todos, event);
      if (TREE.has(event.type) && (!covered || event.type === "task_event")) tree = applyCTree(tree, event);
    }
    // The stream sends every number once and in order, so there is no need to remember them all.
    const last = batch.findLast((event) => event.seq !== undefined)?.seq;
    this.todos = last === undefined ? todos : { ...todos, handled: BigInt(last), early: new Set() };
    this.tree = { ...tree, handled: new Set() };
    if (!covered && batch.some((event) => TELLING.has(event.type))) void this.#look();
  }
}

const watched = new Map<string, { state: SessionState; readers: number }>();

/** The session, followed until the returned function is called. */
export function watch(id: string, transcript: boolean): { state: SessionState; leave: () => void } {
  const name = `${id} ${transcript}`;
  const entry = watched.get(name) ?? { state: new SessionState(id, transcript ? NEWEST : FEW), readers: 0 };
  watched.set(name, entry);
  entry.readers += 1;
  if (entry.readers === 1) entry.state.start();
  const leave = (): void => {
    entry.readers -= 1;
    if (entry.readers > 0) return;
    watched.delete(name);
    entry.state.stop();
  };
  return { state: entry.state, leave };
}
