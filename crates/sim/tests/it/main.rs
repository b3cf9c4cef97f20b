//! The simulator, from outside.

mod machine_files;
mod order;
mod programs;
mod time;
