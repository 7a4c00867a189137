//! End to end: the real program, real files, real sockets.
//!
//! One binary for all of it, because each further one costs a link. A module is one subject.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod any_program;
mod by_hand;
mod checks;
mod client;
mod command_line;
mod config;
mod contracts;
mod crash;
mod demo;
mod first_day;
mod fuzz;
mod hostile;
mod hostile_input;
mod imports;
mod init;
mod lifecycle;
mod on_postgres;
mod page;
mod people;
mod processes;
mod program;
mod proof;
mod proof_commands;
mod real_agents;
mod real_runners;
mod rest;
mod runs;
mod security;
mod session_commands;
mod sessions;
mod setup;
mod stopping;
mod storage;
mod teams;
mod terminal;
mod transfer;
mod tutorial;
mod watched;
mod work;
mod workspaces;
