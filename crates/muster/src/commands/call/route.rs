//! `muster call METHOD PATH`: a route of the running server that is not a tool.

use std::{ffi::OsString, process::ExitCode};

use clap::{Arg, Command};
use muster_core::{Json, text};
use muster_http::reference::{self, RouteEntry};

use super::{read_text, tool};
use crate::{USAGE, client::Client, config::Settings, output};

/// Whether the words begin with a method rather than a tool.
pub(super) fn is_asked_for(words: &[OsString]) -> bool {
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    words.first().and_then(|word| word.to_str()).is_some_and(|word| methods.contains(&word))
}

/// Sends the request and prints the answer.
pub(super) fn run(settings: &Settings, words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let program = [OsString::from("muster call")];
    let matches = command().get_matches_from(program.into_iter().chain(words));
    let given = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let method = given("method").unwrap_or_default();
    let path = given("path").unwrap_or_default();
    let body = given(tool::JSON).map(read_text).transpose();
    let body = match body.and_then(|body| find(method, path).map(|()| body)) {
        Ok(body) => body.map(|(_, text)| text),
        Err(complaint) => {
            output::complain(&complaint);
            return Ok(ExitCode::from(USAGE));
        }
    };
    let reply = Client::of(settings)?.send(method, path, body.as_deref())?;
    if reply.status != 204 {
        output::print_json(&reply.read::<Json>()?)?;
    }
    let is_done = (200..300).contains(&reply.status);
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn command() -> Command {
    let json = Arg::new(tool::JSON).long("json").value_name("OBJECT");
    Command::new("muster call")
        .about("Send a request to the running server and print its answer as JSON")
        .arg(Arg::new("method").required(true).value_name("METHOD"))
        .arg(Arg::new("path").required(true).value_name("PATH").help("Such as /api/runs"))
        .arg(json.help("The body as one JSON object, or - to read it from stdin"))
}

/// Refuses what is not a route, and streams, which have commands of their own.
fn find(method: &str, path: &str) -> Result<(), String> {
    let routes = reference::routes();
    match routes.iter().find(|route| route.takes(method, path)) {
        Some(RouteEntry { answers_json: true, .. }) => Ok(()),
        Some(_) => Err(format!("{method} {path} does not answer with JSON")),
        None => {
            let asked = format!("{method} {path}");
            let known: Vec<String> =
                routes.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
            let nearest = text::nearest(&asked, known.iter().map(String::as_str));
            let hint = nearest.map_or(String::new(), |near| format!("; the nearest is {near}"));
            Err(format!("there is no route {asked}{hint}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{find, is_asked_for};

    #[test]
    fn methods_are_in_capitals_and_tools_are_not() {
        assert!(is_asked_for(&["GET".into(), "/api/runs".into()]));
        assert!(!is_asked_for(&["tasks_create".into()]) && !is_asked_for(&[]));
    }

    #[test]
    fn only_routes_with_a_json_answer_are_sent() {
        assert_eq!(find("GET", "/api/runs?limit=5"), Ok(()));
        let unknown = find("GET", "/api/run").unwrap_err();
        assert_eq!(unknown, "there is no route GET /api/run; the nearest is GET /api/runs");
        assert!(find("GET", "/sessions/7/events").unwrap_err().contains("does not answer"));
    }
}
