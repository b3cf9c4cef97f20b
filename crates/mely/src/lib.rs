//! Multicore event-driven runtime: colored events, no locks in the program.
