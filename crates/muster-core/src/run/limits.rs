//! Every bound of the run room. Going over one is refused; nothing is cut on write, unless the
//! comment states otherwise.

/// Characters of a run's name, a node's label, a model.
pub const NAME_CHARS_MAX: usize = 120;
/// Characters of a goal.
pub const GOAL_CHARS_MAX: usize = 20_000;
/// Lines of a definition of done.
pub const DONE_LINES_MAX: usize = 50;
/// Characters of a line of a definition of done.
pub const DONE_LINE_CHARS_MAX: usize = 500;
/// Characters of a check's name.
pub const CHECK_NAME_CHARS_MAX: usize = 80;
/// Characters of a check's command.
pub const CHECK_COMMAND_CHARS_MAX: usize = 4_000;
/// Checks of a run.
pub const CHECKS_MAX: usize = 50;
/// Paths that count as documentation.
pub const DOCS_PATHS_MAX: usize = 50;
/// Characters of a relative path.
pub const PATH_CHARS_MAX: usize = 1_000;
/// Characters of a node's alias.
pub const ALIAS_CHARS_MAX: usize = 40;
/// Characters of a role template's name.
pub const TEMPLATE_NAME_CHARS_MAX: usize = 64;
/// Characters of a node's own system prompt.
pub const SYSTEM_PROMPT_CHARS_MAX: usize = 32_000;
/// Characters of a node's prompt override.
pub const OVERRIDE_CHARS_MAX: usize = 8_000;
/// Commands that reset a provider's context, each as long as a name.
pub const RESET_COMMANDS_MAX: usize = 10;
/// Characters of a node's summary.
pub const SUMMARY_CHARS_MAX: usize = 200;
/// Characters of a summary that an agent sets or that is taken from a final text.
pub const SHORT_SUMMARY_CHARS_MAX: usize = 80;
/// Characters of an edge's label.
pub const EDGE_LABEL_CHARS_MAX: usize = 60;
/// Characters of a chat message.
pub const MESSAGE_CHARS_MAX: usize = 200_000;
/// Characters of a handoff's message; a longer one comes with an artifact that holds it whole.
pub const HANDOFF_CHARS_MAX: usize = 4_000;
/// Characters that a handoff keeps of a longer message.
pub const HANDOFF_HEAD_CHARS: usize = 3_900;
/// Bytes of a handoff's structured part as compact JSON.
pub const STRUCTURED_BYTES_MAX: usize = 65_536;
/// Artifacts that a handoff names.
pub const HANDOFF_ARTIFACTS_MAX: usize = 50;
/// Characters of a reason: of a handoff's status, of a denial.
pub const STATUS_REASON_CHARS_MAX: usize = 200;
/// Characters of the reason that comes with a resolution.
pub const RESOLUTION_REASON_CHARS_MAX: usize = 500;
/// Characters of a question, a summary of a run, or an agent's report of a stall.
pub const PROSE_CHARS_MAX: usize = 4_000;
/// Characters of a line of a node's log; longer ones are cut.
pub const LOG_LINE_CHARS_MAX: usize = 2_000;
/// Bytes of one text delta; longer ones become several events.
pub const DELTA_BYTES_MAX: usize = 4_096;
/// Nodes of a run, whatever its settings.
pub const NODES_MAX: u32 = 500;
/// Edges of a run.
pub const EDGES_MAX: usize = 2_000;
pub const OPEN_TOOLS_MAX: usize = 64;
/// Handoffs that one turn sends.
pub const TURN_HANDOFFS_MAX: u32 = 200;
/// Inputs that one turn takes.
pub const TURN_INPUTS_MAX: usize = 50;
/// Artifacts that a snapshot of a run shows by default.
pub const RECENT_ARTIFACTS_MAX: u32 = 2_000;
/// Characters of a final text that an automatic handoff carries.
pub const AUTO_MESSAGE_CHARS_MAX: usize = 600;
/// Characters of a failure's detail.
pub const DETAIL_CHARS_MAX: usize = 2_048;
/// Milliseconds between two patches that hold nothing but a heartbeat.
pub const BEAT_INTERVAL_MS: i64 = 30_000;
/// Milliseconds between two changes of a summary that a provider reports.
pub const PROGRESS_INTERVAL_MS: i64 = 500;
/// Graph changes that are remembered for delta prompts.
pub const JOURNAL_ENTRIES_MAX: usize = 64;
/// Grants that a node holds.
pub const GRANTS_MAX: usize = 50;
