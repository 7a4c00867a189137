// Short names for generated wire types; no type is defined here.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type About = Schemas["About"];
export type AllowProposal = Schemas["AllowProposal"];
export type AllowRule = Schemas["AllowRuleRow"];
export type Approval = Schemas["Approval"];
export type Artifact = Schemas["Artifact"];
export type Attention = Schemas["Attention"];
export type BlocksFile = Schemas["BlocksFile"];
export type ChangedDirectory = Schemas["ChangedDirectory"];
export type Check = Schemas["Check"];
export type CheckRun = Schemas["CheckRunRow"];
export type Edge = Schemas["Edge"];
export type EdgeInput = Schemas["EdgeInput"];
export type Envelope = Schemas["Envelope"];
export type FindAnswer = Schemas["FindAnswer"];
export type FoundItem = Schemas["FoundItem"];
export type InboxItem = Schemas["ItemView"];
export type Layout = Schemas["Layout"];
export type Message = Schemas["Message"];
export type NetFile = Schemas["NetFile"];
export type Node = Schemas["Node"];
export type NodeConfig = Schemas["NodeConfig"];
export type NodeInput = Schemas["NodeInput"];
export type NodePatch = Schemas["NodePatch"];
export type NodeStatus = Schemas["NodeStatus"];
export type Phase = Schemas["Phase"];
export type Project = Schemas["ProjectView"];
export type ProjectDefinition = Schemas["ProjectDefinition"];
export type Provider = Schemas["ProviderEntry"];
export type Resolution = Schemas["ResolutionInput"];
export type RuleInput = NonNullable<Resolution["rule"]>;
export type Run = Schemas["Run"];
export type RunEnding = Schemas["RunEnding"];
export type RunEvent = Schemas["RunEvent"];
export type RunInput = Schemas["RunInput"];
export type RunPatch = Schemas["RunPatch"];
export type RunStatus = Schemas["RunStatus"];
export type Stall = Schemas["Stall"];
export type StallRule = Stall["evidence"]["rule"];
export type StreamFrame = Schemas["StreamFrame"];
export type WorkAttention = Schemas["WorkAttention"];
export type Tool = Schemas["Tool"];
export type ToolResult = Schemas["ToolResult"];
export type Turn = Schemas["Turn"];
export type Usage = Schemas["Usage"];

export type Session = Schemas["Session"];
export type SessionEvent = Schemas["SessionEvent"];
export type TodoLists = Schemas["TodoLists"];
export type TreeDropped = Schemas["TreeDropped"];
export type TreePage = Schemas["TreePage"];
export type TreeSummary = Schemas["TreeSummary"];
export type TreeText = Schemas["TreeText"];

/** An event of one type, by its name on the wire. */
export type EventOf<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;
