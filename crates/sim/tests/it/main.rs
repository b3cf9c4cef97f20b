//! The simulator, from outside.

mod explore;
mod layouts;
mod learning;
mod machine_files;
mod order;
mod paper;
mod programs;
mod replay;
mod scale;
mod time;
