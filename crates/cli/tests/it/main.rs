//! The command, from outside.
