//! Loads for staged servers.
//!
//! | file | what |
//! |---|---|
//! | `open_loop` | requests by a timetable, whatever becomes of those before |
//! | `bursts` | packets on many connections, and one active among idle ones |
//! | `pages` | clients that ask for pages, and pause |
//! | `told` | what became of them |

pub(crate) mod bursts;
pub(crate) mod open_loop;
pub(crate) mod pages;
pub(crate) mod told;
