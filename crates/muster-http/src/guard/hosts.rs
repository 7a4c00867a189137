//! The host names of this server, and the pages that may call it.
//!
//! Whole strings are compared for equality, never prefixes: every accepted `Host` and `Origin` is
//! written out once at start. A page that rebinds its own name to 127.0.0.1 sends that name as
//! `Host`, with and without `Origin`, and is refused by the name.

use std::{fmt, net::SocketAddr, str::FromStr};

use axum::http::{HeaderMap, HeaderName, Uri, header, uri::Authority};

use super::origin::AllowedOrigin;
use crate::refusal::{HttpRefusal, RefusalKind};

const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// How clients speak to the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlScheme {
    Http,
    Https,
}

impl UrlScheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A name, with an optional port, under which clients may reach the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: String,
    port: Option<u16>,
}

/// A string that is not a host name.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a host: write a name or NAME:PORT, for example muster.example.org:443")]
pub struct NotAHost(String);

impl FromStr for AllowedHost {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, NotAHost> {
        let wrong = || NotAHost(text.to_owned());
        let authority: Authority = text.parse().map_err(|_| wrong())?;
        let name = authority.host().to_ascii_lowercase();
        let plain =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.[]:".contains(&byte));
        let host = Self { name, port: authority.port_u16() };
        // User names, wildcards, empty or odd ports do not survive the round trip.
        if host.name.is_empty() || !plain || host.to_string() != text.to_ascii_lowercase() {
            return Err(wrong());
        }
        Ok(host)
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(formatter, "{}:{port}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

impl AllowedHost {
    /// The URL of a server with this name that listens on `port`, without a trailing slash.
    pub(crate) fn url(&self, scheme: UrlScheme, port: u16) -> String {
        let name = &self.name;
        match (scheme, self.port.unwrap_or(port)) {
            (UrlScheme::Http, HTTP_PORT) => format!("http://{name}"),
            // A proxy in front of the server uses TLS.
            (_, HTTPS_PORT) => format!("https://{name}"),
            (scheme, port) => format!("{}://{name}:{port}", scheme.name()),
        }
    }
}

/// Every accepted `Host` and `Origin`, lower-case.
#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Allowed origins of other pages.
    guests: Vec<AllowedOrigin>,
}

impl Hosts {
    /// The loopback names with the server's port, and the other allowed names.
    pub(crate) fn new(address: SocketAddr, scheme: UrlScheme, allowed: &[AllowedHost]) -> Self {
        let port = address.port();
        let mut known = Self { hosts: Vec::new(), origins: Vec::new(), guests: Vec::new() };
        if address.ip().is_loopback() {
            // 127.0.0.2, for example. A number cannot be rebound to another address.
            known.hosts.push(address.to_string());
            known.origins.push(format!("{}://{address}", scheme.name()));
        }
        for name in LOOPBACK_NAMES {
            known.add(name, port, &[scheme.name()]);
        }
        for host in allowed {
            // A proxy in front of the server may use TLS.
            known.add(&host.name, host.port.unwrap_or(port), &["http", "https"]);
        }
        known
    }

    /// Also answers to the loopback names on the port of another listener.
    #[must_use]
    pub(crate) fn also_on_loopback(mut self, address: Option<SocketAddr>) -> Self {
        if let Some(address) = address {
            for name in LOOPBACK_NAMES {
                self.add(name, address.port(), &["http"]);
            }
        }
        self
    }

    /// Also allows pages of these origins (RUNS-SEC-2).
    #[must_use]
    pub(crate) fn open_to(self, guests: Vec<AllowedOrigin>) -> Self {
        Self { guests, ..self }
    }

    fn add(&mut self, name: &str, port: u16, schemes: &[&str]) {
        self.hosts.push(format!("{name}:{port}"));
        if port == HTTP_PORT || port == HTTPS_PORT {
            self.hosts.push(name.to_owned());
        }
        for scheme in schemes {
            self.origins.push(format!("{scheme}://{name}:{port}"));
            let default_port = if *scheme == "https" { HTTPS_PORT } else { HTTP_PORT };
            if port == default_port {
                self.origins.push(format!("{scheme}://{name}"));
            }
        }
    }

    /// The request must name this server in `Host`, and in its target when it is in absolute form.
    pub(crate) fn check_host(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), HttpRefusal> {
        let named = only_value(headers, &header::HOST).is_some_and(|host| self.answers_to(host));
        let targeted = uri.authority().is_none_or(|target| self.answers_to(target.as_str()));
        if named && targeted {
            return Ok(());
        }
        Err(HttpRefusal::new(
            RefusalKind::ForeignHost,
            "the Host header does not name this server",
            format!(
                "address the server as {}, or start it with --allow-host NAME",
                self.hosts.first().map_or("127.0.0.1", String::as_str)
            ),
        ))
    }

    /// A request from a page must come from this server's own page, or from an allowed
    /// origin.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), HttpRefusal> {
        let foreign = |message: &str| {
            let recovery = "call from the page of this server or from a program that is not a \
                            browser, or start the server with --allow-origin ORIGIN";
            Err(HttpRefusal::new(RefusalKind::ForeignOrigin, message, recovery))
        };
        if self.guest(headers).is_some() {
            return Ok(());
        }
        if headers.contains_key(header::ORIGIN) && !self.has_own_origin(headers) {
            return foreign("the request comes from a page of another origin");
        }
        // Sent by every current browser and not settable by pages; other programs do not send it.
        let site = HeaderName::from_static("sec-fetch-site");
        if headers.contains_key(&site) {
            let own = only_value(headers, &site).is_some_and(|site| {
                site.eq_ignore_ascii_case("same-origin") || site.eq_ignore_ascii_case("none")
            });
            if !own {
                return foreign("the request comes from a page of another site");
            }
        }
        Ok(())
    }

    /// Whether the request names one of this server's own pages as its origin.
    pub(crate) fn has_own_origin(&self, headers: &HeaderMap) -> bool {
        only_value(headers, &header::ORIGIN).is_some_and(|origin| {
            self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
        })
    }

    /// The origin of the request, if it is another page's and allowed.
    pub(crate) fn guest(&self, headers: &HeaderMap) -> Option<&AllowedOrigin> {
        let origin = only_value(headers, &header::ORIGIN)?;
        self.guests.iter().find(|guest| guest.as_str().eq_ignore_ascii_case(origin))
    }

    /// Whether pages of other origins may call at all.
    pub(crate) fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }

    /// Every accepted `Host`.
    pub(crate) fn names(&self) -> &[String] {
        &self.hosts
    }

    /// Every accepted `Origin`.
    pub(crate) fn origins(&self) -> Vec<String> {
        let guests = self.guests.iter().map(|guest| guest.as_str().to_owned());
        self.origins.iter().cloned().chain(guests).collect()
    }

    fn answers_to(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }
}

/// The header's value if it occurs exactly once and is text.
pub(crate) fn only_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};

    use super::{AllowedHost, Hosts, UrlScheme};

    const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7717);

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::try_from(*name).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn host_accepted(hosts: &Hosts, host: &str) -> bool {
        hosts.check_host(&headers(&[("host", host)]), &Uri::from_static("/")).is_ok()
    }

    #[test]
    fn only_loopback_names_with_the_port_are_answered_to() {
        let hosts = Hosts::new(ADDRESS, UrlScheme::Http, &[]);
        for host in ["127.0.0.1:7717", "localhost:7717", "LOCALHOST:7717", "[::1]:7717"] {
            assert!(host_accepted(&hosts, host), "{host}");
        }
        for host in [
            "",
            "localhost",
            "localhost:",
            "localhost:80",
            "localhost:07717",
            "localhost.:7717",
            "localhost:7717.evil.example",
            "evil.example:7717",
            "127.0.0.1.evil.example:7717",
            "user@localhost:7717",
            "127.1:7717",
            "0.0.0.0:7717",
            "::1:7717",
        ] {
            assert!(!host_accepted(&hosts, host), "{host}");
        }
    }

    #[test]
    fn a_missing_or_doubled_host_is_refused() {
        let hosts = Hosts::new(ADDRESS, UrlScheme::Http, &[]);
        let uri = Uri::from_static("/");
        assert!(hosts.check_host(&HeaderMap::new(), &uri).is_err());
        let doubled = headers(&[("host", "localhost:7717"), ("host", "localhost:7717")]);
        assert!(hosts.check_host(&doubled, &uri).is_err());
    }

    #[test]
    fn a_target_in_absolute_form_must_name_the_server_too() {
        let hosts = Hosts::new(ADDRESS, UrlScheme::Http, &[]);
        let host = headers(&[("host", "localhost:7717")]);
        assert!(hosts.check_host(&host, &Uri::from_static("http://localhost:7717/")).is_ok());
        assert!(hosts.check_host(&host, &Uri::from_static("http://evil.example/")).is_err());
    }

    #[test]
    fn only_own_origins_are_accepted() {
        let hosts = Hosts::new(ADDRESS, UrlScheme::Http, &[]);
        assert!(hosts.check_origin(&HeaderMap::new()).is_ok());
        assert!(hosts.check_origin(&headers(&[("origin", "http://localhost:7717")])).is_ok());
        for origin in [
            "null",
            "",
            "http://localhost",
            "https://localhost:7717",
            "http://localhost:7718",
            "http://localhost:77170",
            "http://localhost:7717/",
            "http://evil.example",
        ] {
            assert!(hosts.check_origin(&headers(&[("origin", origin)])).is_err(), "{origin}");
        }
        let own = "http://localhost:7717";
        assert!(hosts.check_origin(&headers(&[("origin", own), ("origin", own)])).is_err());
    }

    #[test]
    fn requests_from_other_sites_are_refused_without_an_origin_too() {
        let hosts = Hosts::new(ADDRESS, UrlScheme::Http, &[]);
        for (site, accepted) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false)]
        {
            let outcome = hosts.check_origin(&headers(&[("sec-fetch-site", site)]));
            assert_eq!(outcome.is_ok(), accepted, "{site}");
        }
    }

    #[test]
    fn an_allowed_host_is_answered_to_with_its_port() {
        let allowed: AllowedHost = "Muster.Example.org".parse().unwrap();
        let hosts = Hosts::new(ADDRESS, UrlScheme::Http, &[allowed]);
        assert!(host_accepted(&hosts, "muster.example.org:7717"));
        assert!(!host_accepted(&hosts, "muster.example.org"));
        let proxied: AllowedHost = "muster.example.org:443".parse().unwrap();
        let hosts = Hosts::new(ADDRESS, UrlScheme::Http, &[proxied]);
        assert!(host_accepted(&hosts, "muster.example.org"));
        let origin = |origin| hosts.check_origin(&headers(&[("origin", origin)]));
        assert!(origin("https://muster.example.org").is_ok());
        assert!(origin("http://muster.example.org").is_err());
    }

    #[test]
    fn odd_hosts_cannot_be_allowed() {
        for text in ["", "*", "*.example.org", "a b", "http://x", "x/y", "me@x", "x:", "x:99999"] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }
}
