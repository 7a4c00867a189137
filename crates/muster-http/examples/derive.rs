//! What `cargo xtask gen` derives from types and keeps in the repository. The program reads the
//! result, so the code that derives it is here and not in the program.

use std::{
    env,
    io::{self, Write as _},
};

use muster_api::{Registry, derived_request_shapes};
use muster_http::openapi;

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    match env::args().nth(1).as_deref() {
        Some("requests") => out.write_all(derived_request_shapes().as_bytes()),
        Some("openapi") => {
            let document = openapi::derive(&Registry::default());
            writeln!(out, "{}", serde_json::to_string_pretty(&document)?)
        }
        Some(_) | None => Err(io::Error::other("name what to derive: requests or openapi")),
    }
}
