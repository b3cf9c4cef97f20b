//! Colors and tasks that are waited for and stopped together.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::options::ColorOptions;
use super::stop::Pending;
use super::{Color, Colored, WeakColored};
use crate::cell::lives::EndsWithColor;
use crate::cell::origin::RuntimeNumber;
use crate::color::error::CallError;
use crate::color::reply::Reply;
use crate::color::task::make_task;
use crate::color::waits::{left_of, wait_for};
use crate::event::handler::HandlerOf;
use crate::machine::panics::{call_safely, drop_safely};
use crate::machine::sync::{Condvar, Mutex, MutexGuard, lock, unpoison, wait_at_most};
use crate::shared::Shared;

/// One of a group.
enum Member {
    /// Not noted yet: it is being made.
    Begun,
    Color(WeakColored<()>),
    Task(Weak<dyn EndsWithColor>),
}

#[derive(Default)]
struct Members {
    /// By a number that no other gets.
    members: BTreeMap<u64, Member>,
    next: u64,
    stopped: Option<Pending>,
    /// Of who awaits the end, by numbers as above.
    wakers: BTreeMap<u64, Waker>,
    /// That members are of. It only grows.
    runtimes: Vec<RuntimeNumber>,
}

impl Members {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

struct Inner {
    members: Mutex<Members>,
    over: Condvar,
}

/// Colors and tasks that are waited for and stopped together: the sessions of a server, the
/// parts of a request.
///
/// A color is over when its states have been dropped: after its last handle and last event,
/// or once it was [stopped](Colored::stop). A task is over when its future has been dropped.
/// The end of the runtime ends both. A group is a reference: clone it, send it anywhere; it
/// keeps none of its members alive.
///
/// ```
/// use mely::Pending;
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let sessions = rt.group();
/// let session = sessions.colored(vec!["open"]);
/// session.post(|log, _| log.push("a request"))?;
/// let task = sessions.spawn(async { 7 });
/// sessions.stop(Pending::Run); // whoever still has a handle
/// sessions.wait()?;
/// assert!(session.is_stopped() && sessions.is_over());
/// assert_eq!(task.wait(), Ok(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Group {
    shared: Arc<Shared>,
    inner: Arc<Inner>,
}

/// Says that a member is over, when it is dropped: last of what it is of.
struct Token {
    inner: Arc<Inner>,
    key: u64,
}

impl Drop for Token {
    fn drop(&mut self) {
        let mut members = self.inner.lock();
        let member = members.members.remove(&self.key);
        let wakers = match members.members.is_empty() {
            true => std::mem::take(&mut members.wakers),
            false => BTreeMap::new(),
        };
        if members.members.is_empty() {
            self.inner.over.notify_all();
        }
        drop(members);
        drop(member);
        for waker in wakers.into_values() {
            call_safely(|| waker.wake());
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Members> {
        lock(&self.members)
    }

    fn begin(self: &Arc<Self>, runtime: RuntimeNumber) -> Token {
        let mut members = self.lock();
        let key = members.number();
        members.members.insert(key, Member::Begun);
        if !members.runtimes.contains(&runtime) {
            members.runtimes.push(runtime);
            // Who waits, waits for this one, too.
            self.over.notify_all();
        }
        drop(members);
        let inner = Arc::clone(self);
        Token { inner, key }
    }

    /// Notes what a member is; how the group was stopped, if it was.
    fn note(&self, key: u64, member: Member) -> Option<Pending> {
        let mut members = self.lock();
        if let Some(place) = members.members.get_mut(&key) {
            // What was there holds nothing.
            *place = member;
        }
        members.stopped
    }
}

impl Group {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let inner = Inner {
            members: Mutex::new(Members::default()),
            over: Condvar::new(),
        };
        Self {
            shared: Arc::clone(shared),
            inner: Arc::new(inner),
        }
    }

    /// State with a color of its own, in the group. In a group that was stopped it is stopped
    /// at once, and the state dropped.
    pub fn colored<T: Send + 'static>(&self, state: T) -> Colored<T> {
        self.adopt(
            ColorOptions::new(Arc::clone(&self.shared)).anywhere(),
            state,
        )
    }

    /// The same for a fresh color that was made with options, and has no state yet.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let group = rt.group();
    /// let log = group.adopt(rt.color_options().pin_to(1).new_color()?, String::new());
    /// drop(log);
    /// group.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn adopt<T: Send + 'static>(&self, color: Color, state: T) -> Colored<T> {
        let token = self.inner.begin(color.color_ref().shared().number);
        let (key, weak) = (token.key, color.downgrade());
        // States are dropped newest first: the token is the last.
        drop(color.attach_ours(token));
        if self.inner.note(key, Member::Color(weak)).is_some() {
            color.stop(Pending::Drop);
        }
        // A color that was stopped refuses it.
        color.attach(state)
    }

    /// Runs a future in the group, under a fresh color of its own. In a group that was
    /// stopped it is dropped unpolled.
    pub fn spawn<Fut>(&self, future: Fut) -> Reply<Fut::Output>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let token = self.inner.begin(self.shared.number);
        let key = token.key;
        let color = ColorOptions::new(Arc::clone(&self.shared)).anywhere();
        let joined = Joined {
            future: Box::pin(future),
            _token: token,
        };
        let (task, reply) = make_task(color, None, HandlerOf::<Fut>::HANDLER, joined);
        // Before it is posted: who stops the group from now on finds it.
        match self.inner.note(key, Member::Task(task.weak())) {
            Some(_) => task.refuse(),
            None => task.begin(),
        }
        reply
    }

    /// Stops all: each color as by [`Colored::stop`], and what joins later, too. Tasks run to
    /// their ends with [`Pending::Run`], and are given up with [`Pending::Drop`].
    ///
    /// Color 0 of a runtime with a [single reactor](crate::ReactorKind::Single) cannot be
    /// stopped: a group that has [adopted](Self::adopt) it is over with that runtime.
    pub fn stop(&self, pending: Pending) {
        let mut members = self.inner.lock();
        members.stopped = Some(pending);
        let copied = |member: &Member| match member {
            // Whoever makes it finds the group stopped.
            Member::Begun => None,
            Member::Color(color) => Some(Member::Color(color.clone())),
            Member::Task(task) => Some(Member::Task(Weak::clone(task))),
        };
        let all: Vec<_> = members.members.values().filter_map(copied).collect();
        drop(members);
        for member in all {
            match member {
                Member::Color(color) => {
                    if let Some(color) = color.upgrade() {
                        color.stop(pending);
                    }
                }
                Member::Task(task) if pending == Pending::Drop => end_task(&task),
                Member::Task(_) | Member::Begun => {}
            }
        }
    }

    /// Whether all that joined are over.
    pub fn is_over(&self) -> bool {
        self.inner.lock().members.is_empty()
    }

    /// Blocks the calling thread until all that joined are over. It stops nobody.
    ///
    /// Not for destructors: where many of them lie in each other, states that are dropped wait
    /// for the outer ones, and so would this.
    ///
    /// # Errors
    ///
    /// [`CallError::InsideHandler`] inside a handler of the same runtime or that of a member, or
    /// of one that they wait for: that could wait for itself.
    pub fn wait(&self) -> Result<(), CallError> {
        let all_over = self.wait_while(|over, members| Some(unpoison(over.wait(members))));
        all_over.map(drop)
    }

    /// Blocks the calling thread until all that joined are over, but no longer than this:
    /// whether they are. It stops nobody.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use mely::Pending;
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let sessions = rt.group();
    /// let session = sessions.colored("open");
    /// if !sessions.wait_timeout(Duration::from_millis(1))? {
    ///     sessions.stop(Pending::Drop); // those that are late
    /// }
    /// assert!(sessions.wait_timeout(Duration::from_secs(5))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait), which says more.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool, CallError> {
        let left = left_of(timeout);
        let mut gives_up = false;
        self.wait_while(|over, members| {
            if gives_up {
                return None;
            }
            let (members, time_is_over) = wait_at_most(over, members, left());
            gives_up = time_is_over;
            Some(members)
        })
    }

    /// Blocks by `wait` until all are over, or it gives up: whether they are.
    fn wait_while(
        &self,
        mut wait: impl for<'a> FnMut(
            &Condvar,
            MutexGuard<'a, Members>,
        ) -> Option<MutexGuard<'a, Members>>,
    ) -> Result<bool, CallError> {
        let mut waiting = vec![wait_for(self.shared.number)?];
        let mut asked = 0;
        let mut members = self.inner.lock();
        while !members.members.is_empty() {
            if let Some(&runtime) = members.runtimes.get(asked) {
                drop(members);
                waiting.push(wait_for(runtime)?);
                asked += 1;
                members = self.inner.lock();
            } else {
                match wait(&self.inner.over, members) {
                    Some(again) => members = again,
                    None => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// The same as a future, for any async runtime.
    pub fn over(&self) -> GroupOver {
        GroupOver {
            inner: Arc::clone(&self.inner),
            key: None,
        }
    }
}

fn end_task(task: &Weak<dyn EndsWithColor>) {
    if let Some(task) = task.upgrade() {
        task.end();
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.inner.lock().members.len();
        f.debug_struct("Group").field("members", &members).finish()
    }
}

/// Ready when a [`Group`] is over; see [`Group::over`].
#[must_use = "nothing is waited for until it is awaited"]
pub struct GroupOver {
    inner: Arc<Inner>,
    /// By which its waker is known, once it has left one.
    key: Option<u64>,
}

impl Future for GroupOver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let over = self.get_mut();
        // The program's: cloned before the lock is taken, dropped after.
        let waker = cx.waker().clone();
        let mut members = over.inner.lock();
        if members.members.is_empty() {
            drop(members);
            return Poll::Ready(());
        }
        let key = *over.key.get_or_insert_with(|| members.number());
        let before = members.wakers.insert(key, waker);
        drop(members);
        drop_safely(before);
        Poll::Pending
    }
}

impl Drop for GroupOver {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.inner.lock().wakers.remove(&key);
            drop_safely(waker);
        }
    }
}

impl fmt::Debug for GroupOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupOver").finish_non_exhaustive()
    }
}

/// A future in a group, which it leaves after it has gone.
struct Joined<Fut> {
    future: Pin<Box<Fut>>,
    _token: Token,
}

impl<Fut: Future> Future for Joined<Fut> {
    type Output = Fut::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Fut::Output> {
        self.future.as_mut().poll(cx)
    }
}
