//! Which server a client command uses, and with which token (CF-8).

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::bail;
use muster_http::TOKEN_FILE;

use super::{
    Settings, Sourced, ValueSource,
    entries::{CLIENT_CA, CLIENT_TOKEN, CLIENT_URL, NODE_TOKEN},
    readers::{self, Secret},
};
use crate::{local_server, person::Person, storage};

#[derive(Debug)]
pub(crate) struct ServerAddress {
    /// Its URL, without a trailing slash.
    pub(crate) url: String,
    /// Where the URL came from.
    pub(crate) source: ValueSource,
    /// A file with the authorities whose certificates are accepted, instead of the system's.
    pub(crate) authorities: Option<PathBuf>,
    /// The token to present, if one is known. It is sent to this address only.
    pub(crate) token: Option<Secret>,
    /// The person whose key it accepts where only a person may act; the key is of no use to a
    /// server elsewhere, and agents must not have it.
    pub(crate) person: Option<Person>,
}

/// Finds the server of client commands.
pub(crate) fn server(settings: &Settings) -> anyhow::Result<ServerAddress> {
    let Sourced { value, source } = settings.get(&CLIENT_URL)?;
    let Some(url) = value else {
        bail!(
            "no server found: start one with `muster serve`, or set {}",
            CLIENT_URL.row.variables[0]
        );
    };
    let person = if is_local(&url, &source) { Some(Person::of(settings)?) } else { None };
    let token = settings.get(&CLIENT_TOKEN)?.value;
    Ok(ServerAddress { url, source, authorities: settings.get(&CLIENT_CA)?.value, token, person })
}

/// The server that drives the node of this program's token; `None` without one.
pub(crate) fn node_server(settings: &Settings) -> anyhow::Result<Option<ServerAddress>> {
    let token = settings.get(&NODE_TOKEN)?.value;
    let Some(token) = token else { return Ok(None) };
    Ok(Some(ServerAddress { token: Some(token), person: None, ..server(settings)? }))
}

/// The server that runs on a storage folder of this machine.
pub(crate) fn local(storage_dir: &Path) -> anyhow::Result<ServerAddress> {
    let Some(running) = local_server::find(storage_dir) else {
        bail!("no server runs on {}", storage_dir.display());
    };
    let token = fs::read_to_string(storage_dir.join(TOKEN_FILE)).ok();
    let token = token.and_then(|text| readers::token(text.as_ref())).flatten();
    let person = Some(Person::of_folder(storage_dir));
    Ok(ServerAddress {
        url: running.url,
        source: ValueSource::LocalServer(running.file),
        authorities: None,
        token,
        person,
    })
}

/// The address that a running server of this machine has published.
pub(super) fn written_down(settings: &Settings) -> Sourced<Option<String>> {
    let find = || {
        let running = local_server::find(&storage::directory(settings).ok()?)?;
        let value = readers::url(running.url.as_ref())?;
        Some(Sourced { value, source: ValueSource::LocalServer(running.file) })
    };
    find().unwrap_or_else(|| Sourced::default(None))
}

/// The token of this machine's own server. It is of no use to a server elsewhere, which must not
/// learn it.
pub(super) fn local_token(settings: &Settings) -> Sourced<Option<Secret>> {
    let local = settings
        .get(&CLIENT_URL)
        .is_ok_and(|Sourced { value, source }| value.is_some_and(|url| is_local(&url, &source)));
    let token = || {
        let file = storage::directory(settings).ok()?.join(TOKEN_FILE);
        let token = readers::token(fs::read_to_string(&file).ok()?.as_ref())?;
        Some(Sourced { value: token, source: ValueSource::LocalServer(file) })
    };
    local.then(token).flatten().unwrap_or_else(|| Sourced::default(None))
}

/// Whether a server runs on this machine.
fn is_local(url: &str, source: &ValueSource) -> bool {
    matches!(source, ValueSource::LocalServer(_)) || is_loopback(url)
}

/// Whether an address points to this machine.
fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_address = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_addresses_of_this_machine_are_local() {
        for url in [
            "http://127.0.0.1:7717",
            "http://127.8.8.8",
            "https://localhost/muster",
            "http://LOCALHOST:1",
            "http://[::1]:7717",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://127.0.0.1.example.org",
            "http://localhost.example.org:7717",
            "https://muster.example.org/127.0.0.1",
            "http://[2001:db8::1]:7717",
            "http://10.0.0.1",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
