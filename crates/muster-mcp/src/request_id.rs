//! Finds the id of a message that is too long to be parsed.
//!
//! The sender of such a message waits for a response with its id, and clients differ in where they
//! write it. So the message is scanned as it streams by, and nothing of it is kept.

use serde_json::Value;

/// Longest top-level key or value of a message that is kept, in bytes.
const TOKEN_BYTES_MAX: usize = 1024;

/// Scans the bytes of one JSON-RPC message.
#[derive(Debug, Default)]
pub struct RequestIdScanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The top-level key or value that is being read, as JSON text.
    token: Vec<u8>,
    /// The key that the value being read belongs to.
    key: Option<Vec<u8>>,
    id: Option<Value>,
    has_method: bool,
}

/// The id that the sender of a message expects in the response.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestSender {
    /// The sender of the request with this id.
    Request(Value),
    /// None: it is a notification.
    Nobody,
    /// Unknown: this is not a request.
    Unknown,
}

impl RequestIdScanner {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The sender, once the whole message was scanned.
    pub fn sender(self) -> RequestSender {
        match (self.has_method, self.id) {
            (true, Some(id)) => RequestSender::Request(id),
            (true, None) => RequestSender::Nobody,
            (false, _) => RequestSender::Unknown,
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.finish_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.key = Some(std::mem::take(&mut self.token)),
            b',' if self.depth == 1 => self.finish_value(),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    /// Only top-level bytes of the message are kept.
    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= TOKEN_BYTES_MAX {
            self.token.push(byte);
        }
    }

    fn finish_value(&mut self) {
        let value = std::mem::take(&mut self.token);
        match self.key.take().as_deref() {
            Some(b"\"id\"") => self.id = serde_json::from_slice(&value).ok().filter(is_id),
            Some(b"\"method\"") => self.has_method = true,
            Some(_) | None => {}
        }
    }
}

fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{RequestIdScanner, RequestSender};

    fn sender(text: &str) -> RequestSender {
        let whole = {
            let mut scanner = RequestIdScanner::default();
            scanner.push(text.as_bytes());
            scanner.sender()
        };
        let mut scanner = RequestIdScanner::default();
        text.as_bytes().chunks(3).for_each(|chunk| scanner.push(chunk));
        assert_eq!(scanner.sender(), whole, "however it is cut");
        whole
    }

    #[test]
    fn the_id_is_found_wherever_it_is_written() {
        let params = r#"{"id":1,"method":"x","deep":[{"id":2}],"text":"\"id\":3,{\\"}"#;
        for (text, id) in [
            (format!(r#"{{"id":7,"method":"m","params":{params}}}"#), json!(7)),
            (
                format!(r#" {{ "method" : "m" , "params":{params}, "id" : "a\"}}b" }} "#),
                json!("a\"}b"),
            ),
            (format!(r#"{{"params":{params},"id":-5,"method":"m"}}"#), json!(-5)),
        ] {
            assert_eq!(sender(&text), RequestSender::Request(id), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_request_has_no_id() {
        assert_eq!(sender(r#"{"method":"m","params":{"id":1}}"#), RequestSender::Nobody);
        assert_eq!(sender(r#"{"id":null,"method":"m"}"#), RequestSender::Nobody);
        assert_eq!(sender(r#"{"id":1,"result":{}}"#), RequestSender::Unknown);
        assert_eq!(sender(r#"[{"id":1,"method":"m"}]"#), RequestSender::Unknown);
        assert_eq!(sender("xxxx"), RequestSender::Unknown);
        let long = Value::String("x".repeat(2000));
        assert_eq!(sender(&format!(r#"{{"id":{long},"method":"m"}}"#)), RequestSender::Nobody);
    }
}
