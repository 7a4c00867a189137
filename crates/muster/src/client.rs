//! Requests to a running server, over HTTP or HTTPS.
//!
//! Requests are HTTP/1.0: the response then ends with the connection, and there is no framing to
//! parse. Redirects are not followed, so the token is never sent elsewhere.

mod link;

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpStream, ToSocketAddrs as _},
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use self::link::{ServerLink, TlsClient};
use crate::{
    config::{Secret, ServerAddress, Settings, ValueSource, local, node_server, server},
    person::Person,
};

/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may be silent.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest response.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The ports of an address without one.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// A server that requests are sent to.
pub(crate) struct Client {
    server: ServerAddress,
    /// Host and port as given in the address.
    authority: String,
    /// Prefix of every path.
    prefix: String,
    /// For a server that speaks TLS.
    tls: Option<TlsClient>,
    /// How long the server may be silent.
    silence: Duration,
    /// The person's key, kept after its first use: a passphrase is asked for once.
    person_key: Mutex<Option<String>>,
}

#[derive(Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    body: Vec<u8>,
}

/// An error, in either of the formats that servers use.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    error: Option<RefusalError>,
    detail: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RefusalError {
    Code(String),
    Full { code: Option<String>, message: Option<String> },
}

impl HttpReply {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_json::from_slice(&self.body)
            .map_err(|error| anyhow!("the response has an unexpected format: {error}"))
    }

    fn refusal(&self) -> Refusal {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether the server requires the person's key for the request.
    fn needs_person(&self) -> bool {
        let code = match self.refusal().error {
            Some(RefusalError::Code(code)) => Some(code),
            Some(RefusalError::Full { code, .. }) => code,
            None => None,
        };
        self.status == 403 && code.as_deref() == Some("PERSON_REQUIRED")
    }
}

impl Client {
    /// A client of the server that the settings select (CF-8).
    pub(crate) fn of(settings: &Settings) -> anyhow::Result<Self> {
        Self::to(server(settings)?)
    }

    fn to(server: ServerAddress) -> anyhow::Result<Self> {
        let Some((scheme, rest)) = server.url.split_once("://") else {
            bail!("{} is not the address of a server", server.url);
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = if path.is_empty() { String::new() } else { format!("/{path}") };
        let authority = authority.to_owned();
        let tls = match scheme.eq_ignore_ascii_case("https") {
            true => Some(TlsClient::of(host_of(&authority), server.authorities.as_deref())?),
            false => None,
        };
        Ok(Self {
            server,
            authority,
            prefix,
            tls,
            silence: SILENCE_TIMEOUT,
            person_key: Mutex::default(),
        })
    }

    /// A client of the server that runs on a storage folder of this machine.
    pub(crate) fn local(storage_dir: &Path) -> anyhow::Result<Self> {
        Self::to(local(storage_dir)?)
    }

    /// A client of the server that drives the node of this program's token, if it has one.
    pub(crate) fn of_node(settings: &Settings) -> anyhow::Result<Option<Self>> {
        node_server(settings)?.map(Self::to).transpose()
    }

    /// The same client with a longer timeout for responses.
    pub(crate) fn patient(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    /// Where the server's address came from.
    pub(crate) fn source(&self) -> &ValueSource {
        &self.server.source
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.accepted("GET", path, None)?.read()
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.accepted("POST", path, Some(&serde_json::to_string(body)?))?.read()
    }

    pub(crate) fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.accepted("PATCH", path, Some(&serde_json::to_string(body)?))?.read()
    }

    pub(crate) fn delete(&self, path: &str) -> anyhow::Result<()> {
        self.accepted("DELETE", path, None).map(drop)
    }

    /// Sends a request and returns the reply, whatever its status.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> anyhow::Result<HttpReply> {
        let token = self.server.token.as_ref().map(Secret::reveal);
        let reply = self.exchange(&self.request(method, path, body, token))?;
        match &self.server.person {
            Some(person) if reply.needs_person() => {
                let key = self.key_of(person)?;
                self.exchange(&self.request(method, path, body, Some(&key)))
            }
            Some(_) | None => Ok(reply),
        }
    }

    fn exchange(&self, request: &str) -> anyhow::Result<HttpReply> {
        let answer = self.connect().and_then(|stream| {
            stream.set_read_timeout(Some(self.silence))?;
            stream.set_write_timeout(Some(SILENCE_TIMEOUT))?;
            let link = match &self.tls {
                Some(tls) => tls.over(stream)?,
                None => ServerLink::Plain(stream),
            };
            exchange(link, request)
        });
        answer.with_context(|| format!("no response from {}", self.server.url))
    }

    fn key_of(&self, person: &Person) -> anyhow::Result<String> {
        let mut known = self.person_key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known.as_ref() {
            return Ok(key.clone());
        }
        let key = person.open().context("only a person may do this")?;
        Ok(known.insert(key).clone())
    }

    /// Sends a request; any status but success is an error in the server's words.
    fn accepted(&self, method: &str, path: &str, body: Option<&str>) -> anyhow::Result<HttpReply> {
        let reply = self.send(method, path, body)?;
        if (200..300).contains(&reply.status) {
            return Ok(reply);
        }
        match reply.refusal() {
            Refusal { error: Some(RefusalError::Code(code)), detail: Some(detail) } => {
                bail!("{detail} ({code})")
            }
            Refusal { error: Some(RefusalError::Full { message: Some(message), .. }), .. } => {
                bail!("{message}")
            }
            _ => bail!("{} returned HTTP status {}", self.server.url, reply.status),
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let usual = if self.tls.is_some() { HTTPS_PORT } else { HTTP_PORT };
        let target = match port_of(&self.authority) {
            Some(_) => self.authority.clone(),
            None => format!("{}:{usual}", self.authority),
        };
        let mut outcome = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
        for address in target.to_socket_addrs()? {
            outcome = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        secret: Option<&str>,
    ) -> String {
        let authorization = match secret {
            Some(secret) => format!("Authorization: Bearer {secret}\r\n"),
            None => String::new(),
        };
        let prefix = &self.prefix;
        let host = &self.authority;
        let head = format!(
            "{method} {prefix}{path} HTTP/1.0\r\nHost: {host}\r\n\
             Accept: application/json\r\n{authorization}"
        );
        let Some(body) = body else { return head + "\r\n" };
        let length = body.len();
        format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
    }
}

fn exchange(mut link: ServerLink, request: &str) -> io::Result<HttpReply> {
    link.write_all(request.as_bytes())?;
    link.flush()?;
    read_reply(link)
}

/// The port in an authority, if there is one.
fn port_of(authority: &str) -> Option<u16> {
    authority.rsplit_once(':')?.1.parse().ok()
}

fn host_of(authority: &str) -> &str {
    match port_of(authority) {
        Some(_) => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
        None => authority,
    }
}

/// Reads a response to its end.
fn read_reply(stream: impl io::Read) -> io::Result<HttpReply> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "the response is not HTTP");
    let mut reader = BufReader::new(stream.take(ANSWER_BYTES_MAX));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_ascii_whitespace();
    let status = match (words.next(), words.next()) {
        (Some(version), Some(status)) if version.starts_with("HTTP/1.") => {
            status.parse().map_err(|_| broken())?
        }
        _ => return Err(broken()),
    };
    while !matches!(line.as_str(), "" | "\r\n" | "\n") {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    Ok(HttpReply { status, body })
}

#[cfg(test)]
mod tests {
    use super::read_reply;

    #[test]
    fn an_answer_is_status_and_body() {
        let text = "HTTP/1.0 401 Unauthorized\r\ncontent-type: application/json\r\n\r\n{\"a\":1}";
        let reply = read_reply(text.as_bytes()).unwrap();
        assert_eq!((reply.status, &*reply.body), (401, &b"{\"a\":1}"[..]));
        let reply = read_reply(&b"HTTP/1.1 502 \n\n<html>"[..]).unwrap();
        assert_eq!((reply.status, &*reply.body), (502, &b"<html>"[..]));
    }

    #[test]
    fn other_programs_are_told_from_servers() {
        for text in ["", "SSH-2.0-OpenSSH_9.6\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 ok\r\n\r\n"] {
            assert!(read_reply(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
