//! The simulator, from outside.

mod machine_files;
