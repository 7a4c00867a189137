//! Tests of the adapter: both transports, both protocol eras, against a fixture backend.

mod app;
mod app_parts;
mod cost;
mod fixture;
mod http;
mod long_calls;
mod message;
mod roots;
mod stdio;
mod wire;
