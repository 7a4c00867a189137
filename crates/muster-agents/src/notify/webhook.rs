//! One POST to a webhook over plain HTTP. There is no TLS in this program: an `https` address is
//! refused, and a command such as `curl` can send there.

use std::{fmt, io, str::FromStr};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const HTTP_PORT: u16 = 80;
/// Bytes of the response that are read: its first line says whether it was taken.
const ANSWER_BYTES_MAX: u64 = 4096;

/// The address of a webhook: `http://host[:port][/path]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl {
    /// Host and port as in the address.
    authority: String,
    path: String,
}

/// Why an address cannot be a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookFault {
    /// It needs TLS.
    Tls,
    NotHttp,
}

impl FromStr for WebhookUrl {
    type Err = WebhookFault;

    fn from_str(text: &str) -> Result<Self, WebhookFault> {
        let (scheme, rest) = text.split_once("://").ok_or(WebhookFault::NotHttp)?;
        if scheme.eq_ignore_ascii_case("https") {
            return Err(WebhookFault::Tls);
        }
        let is_plain =
            rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"@#\\\"<>".contains(&byte));
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let has_host = !authority.is_empty() && !authority.starts_with(':');
        if !scheme.eq_ignore_ascii_case("http") || !is_plain || !has_host {
            return Err(WebhookFault::NotHttp);
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { authority: authority.to_owned(), path })
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}{}", self.authority, self.path)
    }
}

impl WebhookUrl {
    /// The address to connect to.
    fn address(&self) -> String {
        let after_host = self.authority.rsplit(']').next().unwrap_or_default();
        match after_host.contains(':') {
            true => self.authority.clone(),
            false => format!("{}:{HTTP_PORT}", self.authority),
        }
    }

    /// Sends JSON; fails unless the other side answers with a status of success.
    pub(super) async fn post(&self, json: &str) -> io::Result<()> {
        let mut stream = TcpStream::connect(self.address()).await?;
        let Self { authority, path } = self;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: muster\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            json.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(json.as_bytes()).await?;
        let mut answer = Vec::new();
        let mut line = stream.take(ANSWER_BYTES_MAX);
        while !answer.contains(&b'\n') && line.read_buf(&mut answer).await? > 0 {}
        let first = String::from_utf8_lossy(&answer);
        let status = first.split_whitespace().nth(1).unwrap_or_default();
        match status.parse::<u16>() {
            Ok(200..=299) => Ok(()),
            Ok(status) => Err(io::Error::other(format!("it answered with HTTP status {status}"))),
            Err(_) => Err(io::Error::other("its answer is not HTTP")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WebhookFault, WebhookUrl};

    #[test]
    fn an_address_is_read_with_or_without_port_and_path() {
        for (text, address, whole) in [
            ("http://127.0.0.1:9/hook?a=b", "127.0.0.1:9", "http://127.0.0.1:9/hook?a=b"),
            ("HTTP://ntfy.local", "ntfy.local:80", "http://ntfy.local/"),
            ("http://[::1]/x", "[::1]:80", "http://[::1]/x"),
            ("http://[::1]:8080", "[::1]:8080", "http://[::1]:8080/"),
        ] {
            let url: WebhookUrl = text.parse().unwrap();
            assert_eq!((url.address(), url.to_string()), (address.to_owned(), whole.to_owned()));
        }
    }

    #[test]
    fn tls_and_what_is_no_address_are_refused() {
        assert_eq!("https://x".parse::<WebhookUrl>(), Err(WebhookFault::Tls));
        for text in ["", "x", "ftp://x", "http://", "http://:80", "http://a@b", "http://a b"] {
            assert_eq!(text.parse::<WebhookUrl>(), Err(WebhookFault::NotHttp), "{text:?}");
        }
    }
}
