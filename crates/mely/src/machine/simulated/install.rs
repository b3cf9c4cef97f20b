//! How a thread gets a machine.

use std::rc::Rc;

use super::hooks::{self, Hooks};
use super::meter;
use super::tariff::Tariff;

/// As long as this lives, what the workers of this thread do goes to a simulator.
#[derive(Debug)]
pub struct Installed(());

/// Makes `hooks` the machine of this thread, on which things take what `tariff` says;
/// `None` if it has one already.
pub fn install(hooks: Rc<dyn Hooks>, tariff: Tariff) -> Option<Installed> {
    hooks::put(hooks).then(|| {
        meter::begin(tariff);
        Installed(())
    })
}

impl Drop for Installed {
    fn drop(&mut self) {
        meter::end();
        drop(hooks::take());
    }
}
