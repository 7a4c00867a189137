//! The gate before an agent's calls. Agents allow a call when their hook breaks, so
//! everything but a clear yes ends with exit code 2 here, including a bug of ours.

use std::{
    io::{self, Read as _},
    panic,
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;
use muster_api::runs::{HookAnswer, HookQuestion, ask_hook};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{USAGE, output};

/// Bytes of a call that are read.
const CALL_BYTES_MAX: u64 = 8 << 20;

/// The address of the server.
#[derive(Args)]
pub(crate) struct HookEndpoint {
    /// Socket where the server accepts requests from the agent's hook
    #[arg(long, value_name = "FILE")]
    socket: PathBuf,
}

/// The reply to the agent that makes it call with other arguments.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Said<'a> {
    hook_specific_output: Decision<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decision<'a> {
    hook_event_name: &'static str,
    permission_decision: &'static str,
    updated_input: &'a Map<String, Value>,
}

/// Asks the server and reports its decision to the agent.
pub(super) fn run(asking: &HookEndpoint) -> ExitCode {
    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| decided(asking)));
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(reason)) => {
            output::remark(&format!("{reason:#}"));
            ExitCode::from(USAGE)
        }
        Err(_) => ExitCode::from(USAGE),
    }
}

/// An error is the reason for refusing the call.
fn decided(asking: &HookEndpoint) -> anyhow::Result<()> {
    let mut call = String::new();
    io::stdin().lock().take(CALL_BYTES_MAX).read_to_string(&mut call)?;
    let question: HookQuestion = serde_json::from_str(&call).context("the call cannot be read")?;
    match ask_hook(&asking.socket, &question).context("Muster cannot be asked")? {
        HookAnswer::Pass => Ok(()),
        HookAnswer::Replace { input } => {
            let said = Said {
                hook_specific_output: Decision {
                    hook_event_name: "PreToolUse",
                    permission_decision: "allow",
                    updated_input: &input,
                },
            };
            Ok(output::print_json_line(&serde_json::to_string(&said)?)?)
        }
        HookAnswer::Deny { reason } => anyhow::bail!(reason),
    }
}
