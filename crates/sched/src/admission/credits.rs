//! Credits that clients get before they send.

use super::{Admission, ClientId, Done, Offer, Reason, Tag, Taken, within};
use crate::nanos::Nanos;

/// How [`Credits`] are set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditsOptions {
    /// What the wait in the queue should be below.
    pub target: Nanos,
    /// How often the pool is adjusted: a round trip to the clients.
    pub period: Nanos,
    /// Credits that are added in a period of short waits, for each client; at least one is.
    pub increase: f64,
    /// The share of the pool that is taken away for each target that a wait is above it.
    pub decrease: f64,
    /// Credits to begin with.
    pub pool_initial: f64,
    /// The fewest credits, at least 1.
    pub pool_min: f64,
    /// The most credits.
    pub pool_max: f64,
}

impl CreditsOptions {
    /// What *Overload Control for µs-scale RPCs with Breakwater* sets, around a target and a
    /// round trip: a thousandth of a credit more for each client, 2 % less for each target of
    /// excess. Its targets are 80 µs for requests of 10 µs, and 10 µs for a round trip.
    pub const fn new(target: Nanos, period: Nanos) -> Self {
        Self {
            target,
            period,
            increase: 0.001,
            decrease: 0.02,
            pool_initial: 1.0,
            pool_min: 1.0,
            pool_max: 1_000_000.0,
        }
    }

    /// The same with what makes no sense mended.
    fn mended(self) -> Self {
        let pool_min = within(1.0, f64::MAX, self.pool_min);
        let pool_max = within(pool_min, f64::MAX, self.pool_max);
        Self {
            target: self.target.max(Nanos::new(1)),
            increase: within(0.0, f64::MAX, self.increase),
            decrease: within(0.0, f64::MAX, self.decrease),
            pool_initial: within(pool_min, pool_max, self.pool_initial),
            pool_min,
            pool_max,
            ..self
        }
    }
}

/// What a client has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Client {
    /// Credits that it may spend.
    credits: u64,
    /// Events that it would send if it had more.
    demand: u64,
}

/// Gives credits to clients, as many as keep the queue short, and admits who has one.
///
/// A pool of credits grows while the longest wait of a period is below the target, and
/// shrinks by how far it is above. An event spends a credit, and its completion frees it: for
/// the same client if that has demand (and a few more in advance, as it may have demand that
/// nobody knows of), else for others. What waited longer than twice the target is shed, as
/// clients that got credits in advance may all use them at once.
///
/// Cho, Saeed, Fried, Park, Alizadeh and Belay, *Overload Control for µs-scale RPCs with
/// Breakwater* (OSDI 2020). Where its clients learn of their credits by messages, those of a
/// stage are in the same process: [`Credits::credits`] tells a client at once, a client
/// without credit may take a free one by offering, and credits are taken back from clients
/// that do not use them.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{Admission, Credits, CreditsOptions, Done, Offer, Reason, Tag};
/// let options = CreditsOptions::new(Nanos::from_micros(80), Nanos::from_micros(10));
/// let mut credits = Credits::new(options);
/// let tag = Tag { client: credits.add_client(), ..Tag::default() };
/// let offer = Offer { tag, ..Offer::default() };
/// assert_eq!(credits.offer(&offer), Ok(()));
/// assert_eq!(credits.offer(&offer), Err(Reason::NoCredit));
/// credits.complete(tag, &Done::default());
/// assert_eq!(credits.credits(tag.client), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Credits {
    options: CreditsOptions,
    pool: f64,
    clients: Vec<Option<Client>>,
    free: Vec<ClientId>,
    /// Credits that clients have and have not spent.
    unspent: u64,
    /// Spent by events that are on their way.
    in_flight: u64,
    longest: Nanos,
    period_end: Nanos,
    /// Which client is looked at next.
    next: usize,
}

impl Credits {
    /// How many clients are looked at for one who has demand, or does not use a credit.
    const LOOK: usize = 8;

    /// The most that one period of long waits leaves of the pool, as in the paper.
    const KEEP_MIN: f64 = 0.5;

    /// With no client yet.
    pub fn new(options: CreditsOptions) -> Self {
        let options = options.mended();
        Self {
            options,
            pool: options.pool_initial,
            clients: Vec::new(),
            free: Vec::new(),
            unspent: 0,
            in_flight: 0,
            longest: Nanos::ZERO,
            period_end: Nanos::ZERO,
            next: 0,
        }
    }

    /// How it is set.
    pub fn options(&self) -> CreditsOptions {
        self.options
    }

    /// Sets it otherwise; the pool is brought into its bounds. Credits in excess come back as
    /// events complete.
    pub fn set_options(&mut self, options: CreditsOptions) {
        self.options = options.mended();
        self.pool = self.bounded(self.pool);
    }

    /// Adds a client, without credits: it takes one by offering, if there is one.
    pub fn add_client(&mut self) -> ClientId {
        let client = Some(Client::default());
        if let Some(id) = self.free.pop() {
            self.clients[id.0 as usize] = client;
            return id;
        }
        let id = ClientId(u32::try_from(self.clients.len()).unwrap_or(u32::MAX));
        self.clients.push(client);
        id
    }

    /// Removes a client, whose credits are free then. Its events on their way stay, and free
    /// their credits when they end.
    pub fn remove_client(&mut self, id: ClientId) {
        let place = self.clients.get_mut(id.0 as usize);
        if let Some(client) = place.and_then(Option::take) {
            self.unspent -= client.credits;
            self.free.push(id);
        }
    }

    /// Tells how many events a client would send if it had the credits.
    pub fn set_demand(&mut self, id: ClientId, events: u64) {
        if let Some(client) = self.client_mut(id) {
            client.demand = events;
        }
    }

    /// How many events a client may send; none if it is not there.
    pub fn credits(&self, id: ClientId) -> u64 {
        let client = self.clients.get(id.0 as usize).copied().flatten();
        client.map_or(0, |client| client.credits)
    }

    /// How many credits there are, with those that are spent.
    pub fn pool(&self) -> u64 {
        self.pool as u64
    }

    /// How many credits clients have, or have spent on events that are on their way; more
    /// than the pool after it has shrunk.
    pub fn issued(&self) -> u64 {
        self.unspent + self.in_flight
    }

    /// Gives a free credit to a client with demand, in turn, and tells to whom, so that it
    /// may be woken. `None` if there is no credit, or nobody was found who wants one.
    pub fn grant(&mut self) -> Option<ClientId> {
        if self.issued() >= self.pool() {
            return None;
        }
        let id = self.find(|client| client.demand > client.credits)?;
        self.client_mut(id)?.credits += 1;
        self.unspent += 1;
        Some(id)
    }

    fn client_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.clients.get_mut(id.0 as usize)?.as_mut()
    }

    /// The next client of a few that `is_right`.
    fn find(&mut self, is_right: impl Fn(&Client) -> bool) -> Option<ClientId> {
        let clients = self.clients.len();
        for _ in 0..clients.min(Self::LOOK) {
            let at = self.next % clients;
            self.next = at + 1;
            if self.clients[at].as_ref().is_some_and(&is_right) {
                return u32::try_from(at).ok().map(ClientId);
            }
        }
        None
    }

    /// Takes a credit from a client who has more of them than demand.
    fn revoke(&mut self) -> bool {
        let idle = self.find(|client| client.credits > client.demand);
        match idle.and_then(|id| self.client_mut(id)) {
            Some(client) => {
                client.credits -= 1;
                self.unspent -= 1;
                true
            }
            None => false,
        }
    }

    /// Makes what a client has to spend as much as it should be.
    fn issue(&mut self, id: ClientId) {
        let (pool, issued) = (self.pool(), self.issued());
        let clients = (self.clients.len() - self.free.len()).max(1) as u64;
        let free = pool.saturating_sub(issued);
        let in_advance = (free / clients).max(1);
        let Some(client) = self.client_mut(id) else {
            return;
        };
        let before = client.credits;
        let wanted = client.demand.saturating_add(in_advance);
        client.credits = match issued < pool {
            true => wanted.min(before + free),
            false => wanted.min(before.saturating_sub(1)),
        };
        let after = client.credits;
        self.unspent = self.unspent - before + after;
    }

    fn bounded(&self, pool: f64) -> f64 {
        within(self.options.pool_min, self.options.pool_max, pool)
    }

    fn adjust(&mut self) {
        let CreditsOptions {
            target,
            increase,
            decrease,
            ..
        } = self.options;
        let pool = if self.longest < target {
            let clients = self.clients.len() - self.free.len();
            self.pool + (increase * clients as f64).max(1.0)
        } else {
            let excess = self.longest.since(target).as_f64() / target.as_f64();
            self.pool * (1.0 - decrease * excess).max(Self::KEEP_MIN)
        };
        self.pool = self.bounded(pool);
    }

    /// Whether a period has ended, or the clock has gone back further than one.
    fn is_over(&self, now: Nanos) -> bool {
        now >= self.period_end || now.after(self.options.period) < self.period_end
    }

    fn one_less(&mut self, id: ClientId) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.issue(id);
    }
}

impl Admission for Credits {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        let id = offer.tag.client;
        let Some(client) = self.client_mut(id) else {
            return Err(Reason::NoCredit);
        };
        if client.credits > 0 {
            client.credits -= 1;
            self.unspent -= 1;
        } else if self.issued() >= self.pool() && !self.revoke() {
            if let Some(client) = self.client_mut(id) {
                client.demand = client.demand.max(1);
            }
            return Err(Reason::NoCredit);
        }
        if let Some(client) = self.client_mut(id) {
            client.demand = client.demand.saturating_sub(1);
        }
        self.in_flight += 1;
        Ok(())
    }

    fn give_back(&mut self, tag: Tag) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(client) = self.client_mut(tag.client) {
            client.credits += 1;
            self.unspent += 1;
        }
    }

    fn take(&mut self, _tag: Tag, taken: &Taken) -> Result<(), Reason> {
        self.longest = self.longest.max(taken.waited);
        if self.is_over(taken.now) {
            self.adjust();
            self.longest = Nanos::ZERO;
            self.period_end = taken.now.after(self.options.period);
        }
        match taken.waited > self.options.target.times(2) {
            true => Err(Reason::CreditsLate),
            false => Ok(()),
        }
    }

    fn shed(&mut self, tag: Tag) {
        self.one_less(tag.client);
    }

    fn cancel(&mut self, tag: Tag) {
        self.one_less(tag.client);
    }

    fn complete(&mut self, tag: Tag, _done: &Done) {
        self.one_less(tag.client);
    }
}
