//! The mely command: web server, topology.

fn main() {}
