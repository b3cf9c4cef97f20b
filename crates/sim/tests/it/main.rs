//! The simulator, from outside.

mod explore;
mod machine_files;
mod order;
mod programs;
mod time;
