//! Settings of a server that other machines reach: TLS, a proxy in front of it, limits of tokens.

use std::path::PathBuf;

use muster_http::{
    ProxyNetwork,
    limits::{TOKEN_REQUESTS_PER_SECOND, TOKEN_STREAMS_MAX},
};

use crate::config::{
    Setting, SettingRow, Sourced, readers,
    row::{Blank, Form, Reading, ShownValue},
};

/// The certificates of the server.
pub(crate) static TLS_CERT: Setting<Option<PathBuf>> = Setting {
    row: SettingRow {
        name: "server.tls_cert",
        variables: &["MUSTER_TLS_CERT"],
        flag: Some("--tls-cert"),
        form: Form::Folder,
        allowed: "the path of a PEM file with the server's certificate and its chain",
        default: "none: plain HTTP",
        help: "Certificate for HTTPS; read again when the file changes",
        blank: Blank::Refused,
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::folder, |_| Sourced::default(None)),
    show: |file| ShownValue::maybe(file.as_ref().map(|file| file.display())),
};

/// The key of the certificate.
pub(crate) static TLS_KEY: Setting<Option<PathBuf>> = Setting {
    row: SettingRow {
        name: "server.tls_key",
        variables: &["MUSTER_TLS_KEY"],
        flag: Some("--tls-key"),
        form: Form::Folder,
        allowed: "the path of a PEM file with the private key of the certificate",
        default: "none",
        help: "Private key of the certificate; read again when the file changes",
        blank: Blank::Refused,
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::folder, |_| Sourced::default(None)),
    show: |file| ShownValue::maybe(file.as_ref().map(|file| file.display())),
};

/// Where the proxy in front of the server is.
pub(crate) static TRUST_PROXY: Setting<Vec<ProxyNetwork>> = Setting {
    row: SettingRow {
        name: "server.trust_proxy",
        variables: &["MUSTER_TRUST_PROXY"],
        flag: Some("--trust-proxy"),
        form: Form::List,
        allowed: "networks, each as ADDRESS/BITS or one address, for example 10.0.0.0/8",
        default: "none",
        help: "Networks of a proxy that does TLS; other machines are refused",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::list, |_| Sourced::default(Vec::new())),
    show: |networks| ShownValue::list(networks),
};

/// Whose certificates client commands accept.
pub(crate) static CLIENT_CA: Setting<Option<PathBuf>> = Setting {
    row: SettingRow {
        name: "client.ca",
        variables: &["MUSTER_CA"],
        form: Form::Folder,
        allowed: "the path of a PEM file with the certificates of authorities",
        default: "the authorities of the system",
        help: "Authorities whose certificates client commands accept of a server with HTTPS",
        blank: Blank::Refused,
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::folder, |_| Sourced::default(None)),
    show: |file| ShownValue::maybe(file.as_ref().map(|file| file.display())),
};

/// Requests of a named token in a second.
pub(crate) static REQUESTS_PER_SECOND: Setting<u64> = Setting {
    row: SettingRow {
        name: "limits.requests_per_second",
        variables: &["MUSTER_LIMITS_REQUESTS_PER_SECOND"],
        form: Form::Number,
        allowed: "a whole number from 1",
        default: "50",
        help: "Requests that a named token may send in a second",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::positive, |_| {
        Sourced::default(TOKEN_REQUESTS_PER_SECOND as u64)
    }),
    show: |number| ShownValue::Number(*number),
};

/// Streams of a named token.
pub(crate) static STREAMS: Setting<u64> = Setting {
    row: SettingRow {
        name: "limits.streams",
        variables: &["MUSTER_LIMITS_STREAMS"],
        form: Form::Number,
        allowed: "a whole number from 1",
        default: "100",
        help: "Event streams and WebSockets that a named token may have open at once",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::positive, |_| Sourced::default(TOKEN_STREAMS_MAX as u64)),
    show: |number| ShownValue::Number(*number),
};

/// Bytes of a request's body.
pub(crate) static BODY_BYTES: Setting<u64> = Setting {
    row: SettingRow {
        name: "limits.body_bytes",
        variables: &["MUSTER_LIMITS_BODY_BYTES"],
        form: Form::Number,
        allowed: "a whole number from 1",
        default: "that of the route, 40 MiB at most",
        help: "Bytes of a request's body that a named token may send at most",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::positive, |_| {
        Sourced::default(muster_api::CALL_BYTES_MAX as u64)
    }),
    show: |number| ShownValue::Number(*number),
};
