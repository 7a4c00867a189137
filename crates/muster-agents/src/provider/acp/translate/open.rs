//! Opens a session with an agent and switches it to the requested mode.

use muster_core::run::{node::PermissionsMode, provider::ProviderOutcome, turn::TurnReason};
use serde_json::Value;

use super::{Acp, OwnRequest};
use crate::provider::{
    acp::wire::{AcpMcpServer, AcpSession, Initialized, ModeSwitch, OnSession, OpenSession},
    agent::{AgentStart, TranslatorAction},
    rpc::{self, RpcError},
};

/// The read-only mode of agents.
pub(super) const PLAN: &str = "plan";
/// Modes in which they ask, and in which they do not; the first that an agent supports is used.
const ASKING: [&str; 2] = ["default", "build"];
const NOT_ASKING: [&str; 3] = ["yolo", "bypassPermissions", "build"];

impl Acp {
    pub(super) fn open_session(
        &mut self,
        request: OwnRequest,
        id: Option<&str>,
    ) -> TranslatorAction {
        let mcp_servers = self.setting.mcp.iter().map(AcpMcpServer::muster).collect();
        let open = OpenSession { session_id: id, cwd: &self.setting.cwd, mcp_servers };
        let method = match request {
            OwnRequest::ResumeSession => "session/resume",
            OwnRequest::LoadSession => "session/load",
            OwnRequest::Initialize
            | OwnRequest::NewSession
            | OwnRequest::Mode
            | OwnRequest::Model
            | OwnRequest::Prompt => "session/new",
        };
        TranslatorAction::Send(self.caller.ask(request, method, &open))
    }

    pub(super) fn introduced(&mut self, result: Value) -> TranslatorAction {
        let caps = rpc::shaped::<Initialized>(result).unwrap_or_default().agent_capabilities;
        let AgentStart::Resume(id) = self.setting.start.clone() else {
            return self.open_session(OwnRequest::NewSession, None);
        };
        if caps.session_capabilities.resume.is_some() {
            return self.open_session(OwnRequest::ResumeSession, Some(&id));
        }
        self.lost = !caps.load_session;
        match caps.load_session {
            true => self.open_session(OwnRequest::LoadSession, Some(&id)),
            false => self.open_session(OwnRequest::NewSession, None),
        }
    }

    pub(super) fn opened(&mut self, request: OwnRequest, result: Value) -> Vec<TranslatorAction> {
        let session = rpc::shaped::<AcpSession>(result).unwrap_or_default();
        self.modes = session.modes();
        let model_switch = session.model_switch();
        self.session = match (session.session_id, &self.setting.start, request) {
            (Some(id), _, _) => id,
            (None, AgentStart::Resume(id), OwnRequest::ResumeSession | OwnRequest::LoadSession) => {
                id.clone()
            }
            (None, _, _) => {
                let detail = "the session has no id".to_owned();
                return vec![TranslatorAction::Refuse {
                    reason: TurnReason::HandshakeFailed,
                    detail,
                }];
            }
        };
        self.read_only = self.setting.read_only;
        match (self.setting.model.clone(), model_switch) {
            (Some(model), Some(switch)) => vec![self.choose_model(&model, switch)],
            (Some(model), None) => {
                let note =
                    TranslatorAction::Stray(format!("the agent takes no model, so not {model:?}"));
                let mut moves = vec![note];
                moves.extend(self.ready());
                moves
            }
            (None, _) => self.ready(),
        }
    }

    /// The session is ready, except for its mode.
    fn ready(&mut self) -> Vec<TranslatorAction> {
        match self.switch_mode() {
            Some(line) => vec![line],
            None => vec![self.established()],
        }
    }

    fn choose_model(&mut self, model: &str, switch: ModeSwitch) -> TranslatorAction {
        let on = OnSession::of(&self.session);
        TranslatorAction::Send(match switch {
            ModeSwitch::Modes => {
                let on = OnSession { model_id: Some(model), ..on };
                self.caller.ask(OwnRequest::Model, "session/set_model", &on)
            }
            ModeSwitch::Option => {
                let on = OnSession { config_id: Some("model"), value: Some(model), ..on };
                self.caller.ask(OwnRequest::Model, "session/set_config_option", &on)
            }
        })
    }

    /// The model is chosen, or the agent refused it. Another one would not be what was requested.
    pub(super) fn model_chosen(&mut self, fault: Option<RpcError>) -> Vec<TranslatorAction> {
        let Some(fault) = fault else { return self.ready() };
        let detail = format!("its model could not be set: {}", fault.words());
        vec![TranslatorAction::Refuse { reason: TurnReason::HandshakeFailed, detail }]
    }

    fn established(&self) -> TranslatorAction {
        let session_id = Some(self.session.clone());
        TranslatorAction::Open { session_id, lost: self.lost, replays: self.replays }
    }

    /// Switches the agent to the requested mode, if it has that mode and is not in it.
    pub(super) fn switch_mode(&mut self) -> Option<TranslatorAction> {
        let wanted: &[&'static str] = match (self.read_only, self.setting.gate) {
            (true, _) => &[PLAN],
            (false, PermissionsMode::Gated) => &ASKING,
            (false, PermissionsMode::Skip) => &NOT_ASKING,
        };
        let has = |mode: &&&'static str| self.modes.0.iter().any(|known| known == **mode);
        let mode = *wanted.iter().find(has)?;
        if self.mode == Some(mode) {
            return None;
        }
        self.mode = Some(mode);
        let on = OnSession::of(&self.session);
        let line = match self.modes.1 {
            ModeSwitch::Modes => {
                let on = OnSession { mode_id: Some(mode), ..on };
                self.caller.ask(OwnRequest::Mode, "session/set_mode", &on)
            }
            ModeSwitch::Option => {
                let on = OnSession { config_id: Some("mode"), value: Some(mode), ..on };
                self.caller.ask(OwnRequest::Mode, "session/set_config_option", &on)
            }
        };
        Some(TranslatorAction::Send(line))
    }

    /// The mode was switched, or the agent refused it. The read-only mode is mandatory.
    pub(super) fn switched(&mut self, fault: Option<RpcError>) -> Vec<TranslatorAction> {
        let mut moves = Vec::new();
        if let Some(fault) = fault {
            self.mode = None;
            let detail = format!("its mode could not be changed: {}", fault.words());
            match (self.read_only, self.in_turn) {
                (false, _) => moves.push(TranslatorAction::Stray(detail)),
                (true, false) => {
                    let reason = TurnReason::HandshakeFailed;
                    return vec![TranslatorAction::Refuse { reason, detail }];
                }
                (true, true) => {
                    self.held = None;
                    let reason = TurnReason::ProviderError;
                    let detail = Some(detail);
                    return self.ended(ProviderOutcome::Failed { reason, detail });
                }
            }
        }
        match (self.in_turn, self.held.take()) {
            (false, _) => moves.push(self.established()),
            (true, Some(text)) => moves.push(self.prompt(&text)),
            (true, None) => {}
        }
        moves
    }
}
