//! Mely: a key is a color that owns the actor.

use mely::{Colored, Context, Handler, Policy, Runtime};

use super::{Actor, Conditions, Keyed, ToSelf};
use crate::measure::Failure;

pub(crate) struct Mely(pub(crate) Runtime);

impl Mely {
    pub(crate) fn start(policy: Policy, conditions: Conditions) -> Result<Self, Failure> {
        let builder = Runtime::builder()
            .workers(conditions.workers)
            .affinity(conditions.affinity);
        let builder = match conditions.yields {
            true => builder.batch_threshold(1),
            false => builder,
        };
        Ok(Self(builder.policy(policy).build()?))
    }
}

struct OwnColor<'a, 'b, A>(&'a mut Context<'b, A>);

impl<A: Actor> ToSelf<A::Message> for OwnColor<'_, '_, A> {
    #[inline]
    fn post(&mut self, message: A::Message) {
        self.0
            .post_or_shed(move |actor, cx| handle(actor, message, cx));
    }
}

#[inline]
fn handle<A: Actor>(actor: &mut A, message: A::Message, cx: &mut Context<'_, A>) {
    actor.handle(message, &mut OwnColor(cx));
}

impl Keyed for Mely {
    type Key<A: Actor> = Colored<A>;

    fn key<A: Actor>(&self, actor: A) -> Colored<A> {
        self.0.colored(actor)
    }

    fn poster<A: Actor>(&self, actor: A) -> Result<Colored<A>, Failure> {
        Ok(self.0.color_options().pin_to(0).colored(actor)?)
    }

    #[inline]
    fn post<A: Actor>(key: &Colored<A>, message: A::Message) {
        key.post_or_shed(move |actor, cx| handle(actor, message, cx));
    }

    #[inline]
    fn post_via<A: Actor>(key: &Colored<A>, kind: &'static Handler, message: A::Message) {
        key.with_handler(kind)
            .post_or_shed(move |actor, cx| handle(actor, message, cx));
    }
}
