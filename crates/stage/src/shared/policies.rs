//! Admission, exchangeable as a whole while events are on their way.

use mely_sched::admission::{AdmissionChain, Admitted, Done, Offer, Reason, Running, Taken};

use crate::safely::caught;

/// Which chain, in the order in which a stage had them.
type Generation = u32;

/// That an event was admitted, and by which chain: it is judged by that one.
#[derive(Debug)]
pub(super) struct Ticket(Generation, Admitted);

/// That an event is run.
#[derive(Debug)]
pub(super) struct Run(Generation, Running);

#[derive(Debug)]
struct Chain {
    generation: Generation,
    chain: AdmissionChain,
    /// Events that it admitted and has not seen the end of.
    outstanding: u64,
}

/// The chain that is asked, and earlier ones that some events are still to be judged by.
///
/// Policies are the program's, and asked under the stage's lock: a panic of one is a refusal.
#[derive(Debug)]
pub(super) struct Policies {
    current: Chain,
    earlier: Vec<Chain>,
}

/// What is left of chains that nobody asks any more, to be dropped outside of locks.
#[derive(Debug, Default)]
#[must_use = "policies are the program's: they are not dropped under a lock"]
pub(super) struct Unused(#[allow(dead_code)] Vec<AdmissionChain>);

impl Policies {
    pub(super) fn new(chain: AdmissionChain) -> Self {
        Self {
            current: Chain {
                generation: 0,
                chain,
                outstanding: 0,
            },
            earlier: Vec::new(),
        }
    }

    pub(super) fn current(&mut self) -> &mut AdmissionChain {
        &mut self.current.chain
    }

    /// Asks another chain from now on.
    pub(super) fn replace(&mut self, chain: AdmissionChain) -> Unused {
        let next = Chain {
            generation: self.current.generation.wrapping_add(1),
            chain,
            outstanding: 0,
        };
        self.earlier
            .push(std::mem::replace(&mut self.current, next));
        self.unused()
    }

    /// Takes out the chains whose events are all over.
    pub(super) fn unused(&mut self) -> Unused {
        let mut unused = Vec::new();
        let mut at = 0;
        while at < self.earlier.len() {
            match self.earlier[at].outstanding {
                0 => unused.push(self.earlier.swap_remove(at).chain),
                _ => at += 1,
            }
        }
        Unused(unused)
    }

    fn of(&mut self, generation: Generation) -> Option<&mut Chain> {
        if self.current.generation == generation {
            return Some(&mut self.current);
        }
        let mut earlier = self.earlier.iter_mut();
        earlier.find(|chain| chain.generation == generation)
    }

    pub(super) fn offer(&mut self, offer: &Offer) -> Result<Ticket, Reason> {
        let Chain {
            generation,
            chain,
            outstanding,
        } = &mut self.current;
        let asked = caught(|| chain.offer(offer));
        let admitted = asked.unwrap_or(Err(Reason::Custom))?;
        *outstanding += 1;
        Ok(Ticket(*generation, admitted))
    }

    pub(super) fn give_back(&mut self, ticket: Ticket) {
        if let Some(of) = self.of(ticket.0) {
            of.outstanding -= 1;
            caught(|| of.chain.give_back(ticket.1));
        }
    }

    pub(super) fn take(&mut self, ticket: Ticket, taken: &Taken) -> Result<Run, Reason> {
        let of = self.of(ticket.0).ok_or(Reason::Custom)?;
        let asked = caught(|| of.chain.take(ticket.1, taken));
        match asked.unwrap_or(Err(Reason::Custom)) {
            Ok(running) => Ok(Run(ticket.0, running)),
            Err(reason) => {
                of.outstanding -= 1;
                Err(reason)
            }
        }
    }

    pub(super) fn cancel(&mut self, run: Run) {
        if let Some(of) = self.of(run.0) {
            of.outstanding -= 1;
            caught(|| of.chain.cancel(run.1));
        }
    }

    pub(super) fn complete(&mut self, run: Run, done: &Done) {
        if let Some(of) = self.of(run.0) {
            of.outstanding -= 1;
            caught(|| of.chain.complete(run.1, done));
        }
    }
}
