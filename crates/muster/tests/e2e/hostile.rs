//! What a hostile agent, web page, client or disk tries, each against a real server.

mod bodies;
mod connections;
mod contained;
mod disk;
mod files;
mod floods;
mod launcher;
mod orphans;
mod passphrase;
mod person;
mod places;
mod scope;
