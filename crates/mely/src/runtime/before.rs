//! Names of before, for programs that use them.

use super::Handle;
use crate::color::Color;

impl Handle {
    /// See [`numbered_color`](Self::numbered_color).
    #[deprecated(note = "renamed to `numbered_color`")]
    pub fn color(&self, number: u16) -> Color {
        self.numbered_color(number)
    }

    /// See [`new_color`](Self::new_color).
    #[deprecated(note = "renamed to `new_color`")]
    pub fn fresh_color(&self) -> Color {
        self.new_color()
    }

    /// See [`wait_idle`](Self::wait_idle).
    ///
    /// # Panics
    ///
    /// As there.
    #[deprecated(note = "renamed to `wait_idle`")]
    pub fn settle(&self) {
        self.wait_idle();
    }
}
