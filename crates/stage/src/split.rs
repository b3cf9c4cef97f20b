//! Offers to several stages of which all are taken, or none.

use std::fmt;

use crate::error::Refusal;
use crate::sink::{Reservation, Sink};

/// An event for a stage: a part of a [`split`].
pub type Offer<'a, E> = (&'a Sink<E>, E);

mod sealed {
    pub trait Sealed {}
}

/// Several [`Offer`]s, to stages of any events: a tuple of up to six, or a vector.
///
/// ```
/// fn parts<O: mely_stage::Offers>(offers: &O) -> usize {
///     offers.parts()
/// }
/// assert_eq!(parts(&Vec::<mely_stage::Offer<'_, u32>>::new()), 0);
/// ```
pub trait Offers: sealed::Sealed + Sized {
    /// A place for each.
    type Places;

    /// How many there are.
    fn parts(&self) -> usize;

    /// Reserves a place for each.
    ///
    /// # Errors
    ///
    /// Which one has none, from 0, and why; the places of those before it are given back.
    fn reserve(&self) -> Result<Self::Places, (usize, Refusal)>;

    /// Puts each event into its place.
    fn fill(self, places: Self::Places);
}

/// Offers that were not taken, given back with the reason.
///
/// ```
/// # use mely_stage::{Refusal, SplitRefused};
/// let refused = SplitRefused { offers: (), part: 1, why: Refusal::Full };
/// assert_eq!(refused.to_string(), "part 1 of the offers: the stage is full");
/// ```
pub struct SplitRefused<O> {
    /// What was offered.
    pub offers: O,
    /// Which one was refused, from 0.
    pub part: usize,
    /// Why.
    pub why: Refusal,
}

impl<O> SplitRefused<O> {
    /// The same error without the offers, which are dropped: it borrows no sink, and is `Send`
    /// and `Sync` whatever the events are.
    pub fn without_offers(self) -> SplitRefused<()> {
        SplitRefused {
            offers: (),
            part: self.part,
            why: self.why,
        }
    }
}

impl<O> fmt::Debug for SplitRefused<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitRefused")
            .field("part", &self.part)
            .field("why", &self.why)
            .finish_non_exhaustive()
    }
}

impl<O> fmt::Display for SplitRefused<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of the offers: {}", self.part, self.why)
    }
}

impl<O> std::error::Error for SplitRefused<O> {}

/// Offers events to several stages: all are accepted, or none.
///
/// First a place is reserved in each, then all are filled. The same stage may be there twice, and
/// needs room for both. A stage that ends just then gives its event to its hook.
///
/// ```
/// use mely_stage::{Manager, Refusal, StageOptions, each, split};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// let disk = stages.create("disk", StageOptions::new(), |_| each(|_: Vec<u8>| ()))?;
/// let never = StageOptions::new().capacity(0);
/// let net = stages.create("net", never, |_| each(|_: String| ()))?;
/// let (to_disk, to_net) = (disk.sink(), net.sink());
///
/// let refused = split(((&to_disk, vec![7]), (&to_net, "seven".to_owned()))).unwrap_err();
/// assert_eq!((refused.part, refused.why), (1, Refusal::Full));
///
/// net.set_capacity(1);
/// split(refused.offers).map_err(|refused| refused.without_offers())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// All events are given back, with the first refusal.
///
/// # Panics
///
/// As [`Sink::offer`].
pub fn split<O: Offers>(offers: O) -> Result<(), SplitRefused<O>> {
    match offers.reserve() {
        Ok(places) => {
            offers.fill(places);
            Ok(())
        }
        Err((part, why)) => Err(SplitRefused { offers, part, why }),
    }
}

impl<E: Send + 'static> sealed::Sealed for Vec<Offer<'_, E>> {}

impl<E: Send + 'static> Offers for Vec<Offer<'_, E>> {
    type Places = Vec<Reservation<E>>;

    fn parts(&self) -> usize {
        self.len()
    }

    fn reserve(&self) -> Result<Self::Places, (usize, Refusal)> {
        let parts = self.iter().enumerate();
        parts
            .map(|(part, (sink, event))| sink.reserve(event).map_err(|why| (part, why)))
            .collect()
    }

    fn fill(self, places: Self::Places) {
        for ((_, event), place) in self.into_iter().zip(places) {
            place.fill(event);
        }
    }
}

macro_rules! offers_of_tuples {
    ($($parts:literal: $($event:ident $at:tt)*;)*) => {
        $(
            impl<$($event: Send + 'static),*> sealed::Sealed for ($(Offer<'_, $event>,)*) {}

            impl<$($event: Send + 'static),*> Offers for ($(Offer<'_, $event>,)*) {
                type Places = ($(Reservation<$event>,)*);

                fn parts(&self) -> usize {
                    $parts
                }

                fn reserve(&self) -> Result<Self::Places, (usize, Refusal)> {
                    Ok(($(self.$at.0.reserve(&self.$at.1).map_err(|why| ($at, why))?,)*))
                }

                fn fill(self, places: Self::Places) {
                    $(places.$at.fill(self.$at.1);)*
                }
            }
        )*
    };
}

offers_of_tuples! {
    1: A 0;
    2: A 0 B 1;
    3: A 0 B 1 C 2;
    4: A 0 B 1 C 2 D 3;
    5: A 0 B 1 C 2 D 3 E 4;
    6: A 0 B 1 C 2 D 3 E 4 F 5;
}
