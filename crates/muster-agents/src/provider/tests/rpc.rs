//! Recorded conversations in requests and responses. Recorded ids are mapped to those of the
//! current requests, in the order in which requests of one name were made; requests that were not
//! recorded get an empty result.

use std::collections::BTreeMap;

use muster_core::run::approval::Verdict;
use serde_json::{Value, json};

use super::{AgentLaunch, Story, TranslatorAction, lines, prompt, recording, resolution};
use crate::provider::agent::{AgentProtocol, AgentStart, Translator};

/// A recording that is replayed.
struct Replay<'a> {
    dialect: &'a AgentProtocol,
    setting: AgentLaunch,
    agent: Box<dyn Translator>,
    story: Story,
    /// Unanswered requests of this replay: their names and ids.
    open: Vec<(String, Value)>,
    /// Recorded ids and their current ones.
    ids: BTreeMap<String, Value>,
    /// A prompt that waits until the agent has replayed the earlier session.
    waiting: Option<Value>,
}

/// Replays a recording.
pub(super) fn replay(
    dialect: &AgentProtocol,
    (agent, case): (&str, &str),
    setting: &AgentLaunch,
) -> String {
    let translator = (dialect.translator)(setting.clone());
    let mut replay = Replay {
        dialect,
        setting: setting.clone(),
        agent: translator,
        story: Story::default(),
        open: Vec::new(),
        ids: BTreeMap::new(),
        waiting: None,
    };
    replay.begin();
    for line in recording(agent, case) {
        if let Some(input) = line.get("in") {
            replay.input(input);
        } else if let Some(out) = line.get("out") {
            replay.receive(out.clone());
        } else {
            replay.another_process();
        }
    }
    replay.story.whole()
}

impl Replay<'_> {
    fn begin(&mut self) {
        let moves = self.agent.begin();
        self.take(moves);
    }

    fn take(&mut self, moves: Vec<TranslatorAction>) {
        for line in lines(&moves) {
            if let (Some(method), Some(id)) = (line["method"].as_str(), line.get("id")) {
                self.open.push((method.to_owned(), id.clone()));
            }
        }
        self.story.add_actions(moves);
    }

    /// Recorded input of the agent: a response of ours, or a request.
    fn input(&mut self, input: &Value) {
        let Some(method) = input["method"].as_str() else {
            return self.decide(&input["id"], &input["result"]);
        };
        if method == "session/prompt" && self.replays() {
            self.waiting = Some(input.clone());
            return;
        }
        self.request(input, method);
    }

    /// Whether the agent may still replay an old session; prompts are held back meanwhile.
    fn replays(&self) -> bool {
        self.story.text.lines().last().is_some_and(|line| line.ends_with("retells=true"))
    }

    fn request(&mut self, input: &Value, method: &str) {
        let text = &input["params"]["input"][0]["text"];
        let text = text.as_str().or_else(|| input["params"]["prompt"][0]["text"].as_str());
        let moves = match (method, text) {
            ("turn/start" | "session/prompt", Some(text)) => self.agent.ask(prompt(text)),
            ("turn/interrupt" | "session/cancel", _) => self.agent.interrupt(),
            _ => Vec::new(),
        };
        self.take(moves);
        self.answer_others(method);
        if let Some(at) = self.open.iter().position(|(name, _)| name == method) {
            let (_, today) = self.open.remove(at);
            self.ids.insert(input["id"].to_string(), today);
        }
    }

    fn decide(&mut self, id: &Value, result: &Value) {
        let word = result["decision"].as_str().or_else(|| result["outcome"]["optionId"].as_str());
        let resolution = match word {
            Some("accept" | "once" | "proceed_once" | "allow-once") => {
                resolution(Verdict::Approved, None, None)
            }
            Some(_) => resolution(Verdict::Denied, Some("use another way"), None),
            None => return,
        };
        let moves = self.agent.decide(&id.to_string(), &resolution);
        self.take(moves);
    }

    /// Answers requests that were not recorded, as long as they come before a recorded one.
    fn answer_others(&mut self, method: &str) {
        const THEN: [&str; 9] = [
            "initialize",
            "thread/start",
            "thread/resume",
            "turn/start",
            "turn/interrupt",
            "thread/backgroundTerminals/clean",
            "session/new",
            "session/load",
            "session/prompt",
        ];
        while let Some(at) = self.open.iter().position(|(name, _)| {
            name != method && name != "session/resume" && !THEN.contains(&name.as_str())
        }) {
            let (_, id) = self.open.remove(at);
            let moves = self.agent.receive(&json!({"id": id, "result": {}}).to_string());
            self.take(moves);
        }
    }

    fn receive(&mut self, mut line: Value) {
        if line.get("method").is_none() {
            let Some(today) = self.ids.get(&line["id"].to_string()) else { return };
            line["id"] = today.clone();
        }
        let moves = self.agent.receive(&line.to_string());
        self.take(moves);
        self.answer_others("");
        let update = line["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
        if !update.ends_with("_message_chunk")
            && let Some(input) = self.waiting.take()
        {
            self.request(&input, "session/prompt");
        }
    }

    /// The agent was killed; another process resumes its session.
    fn another_process(&mut self) {
        let text = &self.story.text;
        let session = text.split("session=Some(\"").nth(1).and_then(|rest| rest.split('"').next());
        self.setting.start = AgentStart::Resume(session.unwrap().to_owned());
        self.story.add("another process");
        self.agent = (self.dialect.translator)(self.setting.clone());
        self.open.clear();
        self.ids.clear();
        self.begin();
    }
}

/// A response to the open request of a name in a list of actions.
pub(super) fn answer(moves: &[TranslatorAction], method: &str, result: &Value) -> String {
    let lines = lines(moves);
    let asked = lines.iter().find(|line| line["method"] == method).unwrap();
    json!({"id": asked["id"], "result": result}).to_string()
}

/// An error for the open request of a name in a list of actions.
pub(super) fn refuse(moves: &[TranslatorAction], method: &str, fault: &Value) -> String {
    let lines = lines(moves);
    let asked = lines.iter().find(|line| line["method"] == method).unwrap();
    json!({"id": asked["id"], "error": fault}).to_string()
}
