//! Tool calls: announced, asked about, completed.

use muster_core::run::{
    node::PermissionsMode,
    provider::{ProviderEvent, ProviderTool},
};
use serde_json::Value;

use super::{
    super::wire::{ClaudeBlock, ClaudeMessage, ClaudeRequest, ResultMeta, allow, deny, refuse},
    Claude, LEAVES_PLAN, ONLY_LOOK, OWN_TOOLS,
};
use crate::provider::agent::{
    TranslatorAction, emit, prose,
    tracker::{CallEnd, CallQuestion},
};

impl Claude {
    pub(super) fn called(&mut self, tool: ProviderTool) -> Vec<TranslatorAction> {
        let id = tool.id.clone();
        if tool.name.starts_with(OWN_TOOLS) {
            self.calls.hide(&id);
            return Vec::new();
        }
        let plan = self.todos.called(&id, &tool.name, &tool.args);
        let mut moves = emit(self.calls.proposed(tool));
        // No decision is needed, so it is running.
        if self.setting.gate == PermissionsMode::Skip {
            moves.extend(emit(self.calls.started(&id)));
        }
        moves.extend(plan.map(|items| TranslatorAction::Emit(ProviderEvent::Plan { items })));
        moves
    }

    /// Outcomes of calls come as messages of the user.
    pub(super) fn outcomes(
        &mut self,
        message: ClaudeMessage,
        result: Option<&Value>,
        metas: &[ResultMeta],
    ) -> Vec<TranslatorAction> {
        let mut moves = Vec::new();
        for block in message.blocks() {
            let ClaudeBlock::ToolResult { tool_use_id: id, content, is_error } = block else {
                continue;
            };
            let output = content.map(|output| output.text()).unwrap_or_default();
            let meta = metas.iter().find(|meta| meta.id == id);
            let ran = meta.is_none_or(|meta| meta.non_execution_kind.is_none());
            let ended = CallEnd {
                error: is_error.then(|| prose::fault(&output)),
                result: prose::outcome(!is_error, &output),
                ran,
            };
            moves.extend(emit(self.calls.completed(&id, ended)));
            let plan = if is_error { None } else { self.todos.succeeded(&id, result) };
            moves.extend(plan.map(|items| TranslatorAction::Emit(ProviderEvent::Plan { items })));
        }
        moves
    }

    /// The program asks something.
    pub(super) fn on_question(
        &mut self,
        request_id: String,
        request: ClaudeRequest,
    ) -> Vec<TranslatorAction> {
        let ClaudeRequest::CanUseTool { tool_name: name, input, description, tool_use_id } =
            request
        else {
            return vec![TranslatorAction::Send(refuse(&request_id, "this is not offered"))];
        };
        if name.starts_with(OWN_TOOLS) {
            return vec![TranslatorAction::Send(allow(&request_id, &input))];
        }
        let id = tool_use_id.unwrap_or_else(|| request_id.clone());
        let tool = ProviderTool { id: id.clone(), name, args: input.clone() };
        if self.read_only
            && (self.setting.gate == PermissionsMode::Skip || tool.name == LEAVES_PLAN)
        {
            let mut moves = vec![TranslatorAction::Send(deny(&request_id, ONLY_LOOK))];
            moves.extend(emit(self.calls.proposed(tool)));
            let result = prose::outcome(false, "");
            let error = Some(prose::fault(ONLY_LOOK));
            moves.extend(emit(self.calls.completed(&id, CallEnd { result, error, ran: false })));
            return moves;
        }
        self.questions.insert(request_id.clone(), input);
        let question = request_id;
        let context = description;
        emit(self.calls.asked(CallQuestion { question, tool, context, can_modify: true }))
    }
}
