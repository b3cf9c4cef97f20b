//! What a timer posts, and who takes it.

use core::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::delayed::{Delayed, Fired};
use crate::cell::lives::EndsWithColor;
use crate::event::Event;
use crate::machine::panics::{drop_refused, drop_safely};
use crate::machine::probe;
use crate::machine::sync::{Arc, Mutex, MutexGuard, lock};
use crate::shared::{ColorRef, Shared};
use std::sync::atomic::AtomicUsize;

/// An event that comes again and again.
pub(crate) trait Repeating: Send {
    /// Makes the next one, which brings this back to the timer; gives itself back if there
    /// is nothing to post to any more.
    fn event(
        self: Box<Self>,
        timer: &Timer,
        fired: Fired,
    ) -> Result<(ColorRef, Event), Box<dyn Repeating>>;
}

/// What a timer has to post. Whoever takes it has fired or cancelled the timer: one of them
/// gets it, and what a cancelled event holds goes at once.
pub(super) enum Post {
    Once(ColorRef, Event),
    Every(Box<dyn Repeating>),
    /// Its event was posted, and brings it back.
    Away,
    /// The same, and the event has begun, on this worker.
    Begun(usize),
    Over,
}

pub(super) struct Slot {
    pub(super) post: Post,
    /// When it is due. The entry of the heap may say an earlier time.
    pub(super) at: Instant,
    /// The number of its entry in the heap: others are of no use any more.
    pub(super) entry: u32,
}

#[cfg_attr(feature = "virtual", repr(align(64)))]
struct State {
    slot: Mutex<Slot>,
    shared: Arc<Shared>,
    /// The worker that keeps the timer.
    keeper: usize,
    /// The first home of its color, and its place among what ends with that.
    home: usize,
    place: AtomicUsize,
}

const UNLISTED: usize = usize::MAX;

/// A delayed event, as [`post_after`](crate::Colored::post_after) returns it, or one that
/// comes again and again, of [`post_every`](crate::Colored::post_every). Dropping it lets
/// the timer go on.
#[derive(Clone)]
pub struct Timer(Arc<State>);

// As for a handle to a color.
impl UnwindSafe for Timer {}
impl RefUnwindSafe for Timer {}

impl Timer {
    fn new(post: Post, shared: &Arc<Shared>, [keeper, home]: [usize; 2], at: Instant) -> Self {
        let state = Arc::new(State {
            slot: Mutex::new(Slot { post, at, entry: 0 }),
            shared: Arc::clone(shared),
            keeper,
            home,
            place: AtomicUsize::new(UNLISTED),
        });
        probe::born(Arc::as_ptr(&state));
        Self(state)
    }

    /// A timer whose event was refused: it will never fire.
    pub(crate) fn refused(shared: &Arc<Shared>) -> Self {
        Self::new(Post::Over, shared, [0, 0], shared.clock.now())
    }

    /// A timer that worker `keeper` will keep.
    pub(crate) fn pending(keeper: usize, at: Instant, color: ColorRef, event: Event) -> Self {
        let (shared, home) = (Arc::clone(color.shared()), usize::from(color.traits().home));
        Self::new(Post::Once(color, event), &shared, [keeper, home], at)
    }

    /// The same, again and again.
    pub(crate) fn repeating(
        keeper: usize,
        at: Instant,
        color: &ColorRef,
        post: Box<dyn Repeating>,
    ) -> Self {
        let home = usize::from(color.traits().home);
        Self::new(Post::Every(post), color.shared(), [keeper, home], at)
    }

    /// Lets it end with its color; `false` if that has ended.
    fn list(&self, color: &ColorRef) -> bool {
        let what: Weak<State> = Arc::downgrade(&self.0);
        let place = color.list(what);
        if let Some(place) = place {
            // Relaxed: who has taken it from the list in between, needs it no more; others
            // get the timer after this.
            self.0.place.store(place, Relaxed);
        }
        place.is_some()
    }

    /// Sets it, unless its color was stopped.
    pub(crate) fn set(self, color: &ColorRef) -> Self {
        if self.list(color) {
            let (at, keeper) = (self.slot().at, self.0.keeper);
            self.0
                .shared
                .set_timer(keeper, Delayed::new(at, self.clone()));
        } else {
            self.shed();
        }
        self
    }

    /// Drops its event as one that was not accepted.
    pub(crate) fn shed(&self) {
        match self.0.finish(self.slot()) {
            Post::Once(color, event) => {
                self.0.shared.outside_counts.shed.add_shared(1);
                drop_refused((color, event));
            }
            Post::Every(post) => drop_refused(post),
            Post::Away | Post::Begun(_) | Post::Over => {}
        }
    }

    /// Cancels it on the thread of this worker, if it is one; see `Timer::cancel`.
    pub(crate) fn cancel_on(&self, worker: Option<usize>) -> bool {
        self.0.cancel_on(worker)
    }
}

impl State {
    /// Ends it, and gives back what it had to post.
    fn finish(&self, mut slot: MutexGuard<'_, Slot>) -> Post {
        let post = std::mem::replace(&mut slot.post, Post::Over);
        drop(slot);
        self.unlist();
        post
    }

    /// It does not end with its color, as it is over.
    fn unlist(&self) {
        // Relaxed: see `list`.
        let place = self.place.swap(UNLISTED, Relaxed);
        if place != UNLISTED {
            let lives = &self.shared.remotes[self.home].lives;
            lives.unlist(place, core::ptr::from_ref(self).cast());
        }
    }

    fn cancel_on(&self, worker: Option<usize>) -> bool {
        match self.finish(lock(&self.slot)) {
            Post::Once(color, event) => {
                self.shared.outside_counts.cancelled.add_shared(1);
                self.entry_is_stale();
                drop_safely((color, event));
            }
            Post::Every(post) => {
                self.entry_is_stale();
                drop_safely(post);
            }
            Post::Away => {}
            // That one may be about to begin, unless it is what cancels.
            Post::Begun(on) => return worker == Some(on),
            Post::Over => return false,
        }
        true
    }

    fn entry_is_stale(&self) {
        // Relaxed: a hint when to tidy up.
        let timers = &self.shared.remotes[self.keeper].timers;
        timers.stale.fetch_add(1, Relaxed);
    }
}

impl EndsWithColor for State {
    fn end(&self) -> bool {
        self.cancel_on(None)
    }
}

impl Timer {
    /// Lets an event that comes again and again begin on this worker, unless it was cancelled.
    pub(crate) fn begin_on(&self, worker: usize) -> bool {
        let mut slot = self.slot();
        let begins = matches!(slot.post, Post::Away);
        if begins {
            slot.post = Post::Begun(worker);
        }
        begins
    }

    /// After its event was taken.
    pub(super) fn unlist(&self) {
        self.0.unlist();
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// Whether the event is still to come, or to come again.
    pub fn is_pending(&self) -> bool {
        !matches!(self.slot().post, Post::Over)
    }

    /// Lets the timer fire at another time instead, earlier or later, without a new one:
    /// what a session does at each request, whose timeout begins anew. Returns whether that
    /// was in time, as [`cancel`](Self::cancel).
    ///
    /// To put a timer off takes some 40 ns, no memory, and wakes nobody.
    ///
    /// An event that comes again and again goes on from there.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let session = rt.colored("open");
    /// let timeout = session.post_after(Duration::from_secs(30), |s, _cx| *s = "timed out");
    /// assert!(timeout.reset_after(Duration::from_secs(60)));
    /// assert!(timeout.reset_at(Instant::now())); // now, at once
    /// # rt.wait_idle();
    /// assert_eq!(session.blocking_with(|s| *s), "timed out");
    /// assert!(!timeout.reset_after(Duration::ZERO)); // too late
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset_at(&self, at: Instant) -> bool {
        {
            let mut slot = self.slot();
            match slot.post {
                Post::Over => return false,
                Post::Once(..) | Post::Every(_) if at < slot.at => {}
                Post::Once(..) | Post::Every(_) => {
                    // The entry finds that when it is due.
                    slot.at = at;
                    return true;
                }
                Post::Away | Post::Begun(_) => {
                    slot.at = at;
                    slot.entry = slot.entry.wrapping_add(1);
                    return true;
                }
            }
        }
        let (shared, keeper) = (&self.0.shared, self.0.keeper);
        match shared.remotes[keeper].timers.bring_forward(self, at) {
            Some(is_first) => {
                shared.look_at_timers(keeper, is_first);
                true
            }
            None => false,
        }
    }

    /// The same, at so long from now.
    pub fn reset_after(&self, delay: Duration) -> bool {
        self.reset_at(self.0.shared.after(delay))
    }

    pub(super) fn slot(&self) -> MutexGuard<'_, Slot> {
        lock(&self.0.slot)
    }

    /// Makes it due earlier, with a new entry; under the lock of the heap. `None` if it is
    /// over; else the entry, and whether there was one that is of no use any more.
    pub(super) fn entry_at(&self, at: Instant) -> Option<(Option<Delayed>, bool)> {
        let mut slot = self.slot();
        if matches!(slot.post, Post::Over) {
            return None;
        }
        slot.at = at;
        slot.entry = slot.entry.wrapping_add(1);
        let entry = Delayed {
            at,
            timer: self.clone(),
            entry: slot.entry,
        };
        match slot.post {
            // Its event makes the entry when it is over.
            Post::Away | Post::Begun(_) => Some((None, false)),
            _ => Some((Some(entry), true)),
        }
    }

    /// Brings back what its event took away; due at `next`, unless it was reset since it was
    /// taken as this entry. Gives it back if the timer was cancelled.
    fn bring_back(
        &self,
        post: Box<dyn Repeating>,
        entry: u32,
        next: Instant,
    ) -> Result<Delayed, Box<dyn Repeating>> {
        let mut slot = self.slot();
        if !matches!(slot.post, Post::Away | Post::Begun(_)) {
            return Err(post);
        }
        slot.post = Post::Every(post);
        if slot.entry == entry {
            slot.at = next;
        }
        let (at, entry) = (slot.at, slot.entry);
        drop(slot);
        let timer = self.clone();
        Ok(Delayed { at, timer, entry })
    }

    /// Lets what its event took away come again after `period`: counted from when it was
    /// due, or from now if that is past.
    pub(crate) fn again(&self, post: Box<dyn Repeating>, fired: Fired, period: Duration) {
        let State { shared, keeper, .. } = &*self.0;
        let due = fired.at.checked_add(period);
        let next = due.filter(|&next| next > shared.clock.now());
        let next = next.unwrap_or_else(|| shared.after(period));
        match self.bring_back(post, fired.entry, next) {
            Ok(entry) => {
                let is_first = shared.remotes[*keeper].timers.keep_again(entry);
                shared.look_at_timers(*keeper, is_first);
            }
            Err(post) => drop_safely(post),
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("pending", &self.is_pending())
            .finish()
    }
}
