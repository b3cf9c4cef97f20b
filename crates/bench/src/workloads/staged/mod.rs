//! Loads for staged servers.
//!
//! | file | what |
//! |---|---|
//! | `open_loop` | requests by a timetable, whatever becomes of those before |
//! | `told` | what became of them |

pub(crate) mod open_loop;
pub(crate) mod told;
