//! Servers that other machines reach: TLS and proxies.

use std::{
    fs, io,
    net::{IpAddr, TcpListener, UdpSocket},
    path::Path,
    process::{Child, Stdio},
};

use muster_testkit::server::{Connection, Request};
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tempfile::TempDir;

use super::{token, until};
use crate::program::{answer, muster, serve, stderr, stdout};

/// Writes a server's certificate and key of a new authority; returns the authority's.
fn certify(folder: &Path) -> String {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let server = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(folder.join("cert.pem"), server.pem()).unwrap();
    issuer.pem()
}

#[test]
fn a_server_with_a_certificate_speaks_tls_and_reads_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(file("ca.pem"), certify(folder.path())).unwrap();
    let server = serve(&["--tls-cert", &file("cert.pem"), "--tls-key", &file("key.pem")]);
    let ada = token(&server, "ada", &["--role", "member"]);
    let url = server.page_link().split("/#").next().unwrap().to_owned();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let elsewhere = tempfile::tempdir().unwrap();
    let status = |ca: &str| {
        let mut command = muster(&["status", "--json"]);
        command.env("MUSTER_STORAGE_DIR", elsewhere.path());
        command.env("MUSTER_URL", &url).env("MUSTER_TOKEN", &ada).env("MUSTER_CA", file(ca));
        let output = command.output().unwrap();
        (output.status.success(), answer(&output)["access"].clone(), stderr(&output))
    };
    let (is_fine, access, errors) = status("ca.pem");
    assert!(is_fine && access == json!("granted"), "{access} {errors}");
    // Programs of this machine have a plain address of their own.
    let storage_dir = server.storage_dir().to_str().unwrap();
    let local = muster(&["status", "--storage-dir", storage_dir]).output().unwrap();
    assert!(stdout(&local).contains("granted"), "{}", stdout(&local));
    fs::write(file("other.pem"), certify(folder.path())).unwrap();
    until("the new certificate is used", || status("other.pem").0);
    assert!(!status("ca.pem").0, "the old authority is not of the new certificate");
    fs::write(file("cert.pem"), "no certificate").unwrap();
    assert!(status("other.pem").0, "a certificate that cannot be used changes nothing");
    let mut plain = Connection::open(url.trim_start_matches("https://").parse().unwrap()).unwrap();
    plain.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let heard = plain.read_to_end().unwrap_or_default();
    assert!(!heard.starts_with(b"HTTP"), "plain HTTP is not answered");
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    certify(folder.path());
    fs::write(file("empty.pem"), "").unwrap();
    let storage = tempfile::tempdir().unwrap();
    let storage_dir = storage.path().to_str().unwrap();
    for (flags, expected) in [
        (vec!["--tls-cert".to_owned(), file("cert.pem")], "--tls-key"),
        (vec!["--tls-key".to_owned(), file("key.pem")], "--tls-cert"),
        (
            vec![
                "--tls-cert".to_owned(),
                file("empty.pem"),
                "--tls-key".to_owned(),
                file("key.pem"),
            ],
            "holds no certificate",
        ),
        (
            vec!["--tls-cert".to_owned(), file("cert.pem"), "--tls-key".to_owned(), file("no.pem")],
            "cannot read",
        ),
    ] {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let base = ["serve", "--addr", "127.0.0.1:0", "--storage-dir", storage_dir];
        let output = muster(&[&base[..], &flags].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{flags:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn behind_a_proxy_other_machines_are_refused() {
    // The address of this machine on its network; nothing is sent.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let own = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let Ok(own) = own.map(|own| own.ip()) else {
        return eprintln!("skipped: this machine has no network");
    };
    let foreign = Exposed::behind("198.51.100.0/24");
    assert!(foreign.ask(own).is_err(), "this machine is not the proxy");
    let proxied = Exposed::behind(&own.to_string());
    assert_eq!(proxied.ask(own).unwrap(), 200);
}

/// A server on all addresses of this machine.
struct Exposed {
    child: Child,
    port: u16,
    _storage: TempDir,
}

impl Exposed {
    fn behind(network: &str) -> Self {
        let storage = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("0.0.0.0:{free}");
        let storage_dir = storage.path().to_str().unwrap();
        let mut command = muster(&["serve", "--addr", &address, "--storage-dir", storage_dir]);
        command.args(["--allow-host", "muster.example.org:443", "--trust-proxy", network]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { child, port: free, _storage: storage };
        until("the server answers on loopback", || server.ask([127, 0, 0, 1].into()).is_ok());
        server
    }

    /// The status of the answer to a request at an address of this machine.
    fn ask(&self, address: IpAddr) -> io::Result<u16> {
        let request = Request::new("GET", "/health").header("Host", "muster.example.org");
        Ok(Connection::open((address, self.port).into())?.exchange(&request)?.status)
    }
}

impl Drop for Exposed {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
