//! Real agents, as people install them, driven by a real server against a scripted model. Nothing
//! of it leaves the machine.
//!
//! `cargo xtask test` installs the agents and runs these; `cargo xtask agents` runs them alone.
//! They are ignored otherwise, because the agents need not be installed.

mod cases;
mod cli;
mod codex_alone;
mod person;
mod stage;
#[cfg(target_os = "linux")]
mod stopping;
mod watched;
mod wire;
mod worktree;

use cli::Cli;

/// One test of each case for each agent.
macro_rules! each_agent {
    ($($case:ident),+ $(,)?) => {
        each_agent!(@of codex, Codex, $($case),+);
        each_agent!(@of claude, Claude, $($case),+);
        each_agent!(@of gemini, Gemini, $($case),+);
        // It is installed for this kind of machine only.
        #[cfg(target_arch = "x86_64")]
        each_agent!(@of opencode, Opencode, $($case),+);
    };
    (@of $module:ident, $cli:ident, $($case:ident),+) => {
        mod $module {
            $(
                #[test]
                #[ignore = "needs real agents: cargo xtask agents"]
                fn $case() {
                    super::cases::$case(super::Cli::$cli);
                }
            )+
        }
    };
}

each_agent!(
    a_session_is_resumed_after_the_server_was_killed,
    a_plain_turn,
    a_tool_without_questions,
    a_tool_that_is_approved,
    a_tool_that_is_denied,
    a_tool_with_other_arguments,
    an_interruption_in_the_text,
    an_interruption_in_a_tool,
    an_interruption_while_a_person_is_asked,
    a_model_that_refuses,
    muster_s_own_tools,
    nothing_is_changed_while_the_run_is_planned,
    a_reset_forgets,
    another_agent_takes_over,
    its_own_plan_is_shown,
    a_model_is_chosen,
    a_piece_of_text_costs_little,
    the_first_prompt_follows_at_once,
    work_in_a_worktree_is_merged_and_the_user_s_edits_stay,
);
