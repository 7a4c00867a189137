//! Floods: what a program says without end costs a bounded number of events.

use serde_json::json;

use crate::{
    program::serve_with_file,
    runs::{Client as _, agent, started, until},
};

/// Asks for 90,000 approvals in one turn, which are some 12 MB, and reads no answer before that.
const ASKER: &str = r#"
roots = ["/"]
default_permissions_mode = "skip"

[profiles.custom.flood]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*)
    awk 'BEGIN { for (i = 0; i < 90000; i++) printf "%s%d%s%d%s\n", \
      "{\"type\":\"approval.requested\",\"approvalId\":\"q", i, \
      "\",\"canModify\":true,\"tool\":{\"id\":\"q", i, \
      "\",\"name\":\"push\",\"args\":{\"to\":\"everywhere and beyond\"}}}" }'
    echo '{"type":"message.assistant.final","content":"Asked."}';;
esac; done''']
"#;

#[test]
fn a_flood_of_questions_is_refused_and_counted() {
    let server = serve_with_file("runs.toml", ASKER);
    for mode in ["gated", "skip"] {
        let dir = tempfile::tempdir().unwrap();
        let run = started(&server, dir.path(), json!({}));
        let node = json!({"permissions": {"cliPermissionsMode": mode}});
        let node = agent(&server, &run, "flood", node);
        server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
        let events = server.last_seq(&run);
        assert!(events < 5_000, "{mode}: {events} events");
        let log = server.see(&format!("{run}/events?type=node.log&since=0&limit=2000"));
        let lines = log["events"].as_array().unwrap().iter();
        let refused: u64 = lines.filter_map(|event| event["suppressed"].as_u64()).sum();
        assert!(refused > 80_000, "{mode}: {refused} questions were refused");
    }
}
