//! The command, from outside.

mod command;
mod docs_tree;
mod process;
mod trace;
mod web;
