//! The traits of others, each behind the feature of its name.

#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "hyper")]
pub(crate) mod hyper_rt;
#[cfg(feature = "tokio")]
mod tokio_io;
