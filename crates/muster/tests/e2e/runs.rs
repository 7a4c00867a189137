//! Runs over a running server: REST and WebSocket, as far as no agent has to work.

mod edges;
mod errors;
mod inputs;
mod lists;
mod nodes;
mod paging;
mod places;
mod shield;
mod sockets;

use muster_testkit::server::{ServerProcess, Socket};
use serde_json::{Value, json};

/// A client of the runs.
pub(crate) trait Client {
    /// Sends a request; answers status and JSON.
    fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value);

    /// Something that has to go well.
    fn fine(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// Reads something that has to be there.
    fn see(&self, path: &str) -> Value {
        self.fine("GET", path, Value::Null)
    }

    /// A request that has to be refused; answers its code and the field that is to blame.
    fn refused(&self, method: &str, path: &str, body: Value) -> (u16, String, Value) {
        let (status, answer) = self.ask(method, path, body);
        assert!(status >= 400, "{method} {path}: {status} {answer}");
        assert!(answer["detail"].is_string(), "{answer}");
        (status, answer["error"].as_str().unwrap().to_owned(), answer["path"].clone())
    }

    /// Makes a run that does not start; answers its path.
    fn run(&self, fields: Value) -> String {
        let mut body = json!({"autoStart": false});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let made = self.fine("POST", "/api/runs", body);
        format!("/api/runs/{}", made["run"]["id"].as_str().unwrap())
    }

    /// Makes a node; answers its id.
    fn node(&self, run: &str, label: &str, role: &str) -> String {
        let node = json!({"label": label, "provider": "custom", "roleTemplate": role});
        let made = self.fine("POST", &format!("{run}/nodes"), json!({"node": node}));
        made["node"]["id"].as_str().unwrap().to_owned()
    }

    /// Number of the newest event of a run.
    fn last_seq(&self, run: &str) -> u64 {
        self.see(run)["run"]["lastSeq"].as_u64().unwrap()
    }
}

impl Client for ServerProcess {
    fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.request(method, path);
        let request = if body.is_null() { request } else { request.json(&body) };
        let reply = self.send(&request).unwrap();
        let kind = reply.header("content-type");
        assert_eq!(kind, Some("application/json; charset=utf-8"), "{method} {path}");
        (reply.status, reply.json().unwrap())
    }
}

/// Opens the WebSocket of a run.
fn follow(server: &ServerProcess, query: &str) -> Socket {
    let bearer = format!("Bearer {}", server.token().unwrap());
    let opened =
        Socket::open(server.address(), &format!("/ws{query}"), &[("Authorization", &bearer)]);
    opened.unwrap().unwrap_or_else(|refused| panic!("{query}: {refused:?}"))
}

/// The id in a run's path.
fn id_of(run: &str) -> &str {
    run.rsplit('/').next().unwrap()
}
