//! The command, from outside.

mod command;
mod docs_tree;
mod gnutella;
mod process;
mod replay;
mod servers;
mod sim;
mod sim_same;
mod stages;
mod top;
mod trace;
mod web;
