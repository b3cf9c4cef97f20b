//! A queue with servers, simulated: what a policy does under a load, before it is trusted.
//!
//! A [`Station`] is the G/G/n queue of the textbooks with an
//! [`AdmissionChain`](crate::admission::AdmissionChain) in front: events come at random times,
//! at a rate that changes; servers take the one that has waited longest. Time is virtual and
//! chance comes from a seed, so a run of a million events takes a fraction of a second, and
//! gives the same each time. What is simulated are the policies themselves, not a model of
//! them.
//!
//! [`Step`] is the experiment with which Breakwater (OSDI 2020) compares policies: demand jumps
//! from half to 1.4 times of what the servers can do.

mod chance;
mod load;
mod station;
mod step;

pub use chance::Chance;
pub use load::{Phase, Service};
pub use station::{Observer, Sample, Station};
pub use step::{Step, StepReport};
