//! Policies at the ends of what numbers can say.

use super::*;

const ENDS: [u64; 7] = [0, 1, 2, 1_000_000_007, u64::MAX / 2, u64::MAX - 1, u64::MAX];

const SHARES: [f64; 9] = [
    f64::NEG_INFINITY,
    -1.0,
    0.0,
    f64::MIN_POSITIVE,
    0.5,
    1.0,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

fn two_ends() -> impl Iterator<Item = (u64, u64)> {
    let ends = ENDS.into_iter();
    ends.flat_map(|a| ENDS.into_iter().map(move |b| (a, b)))
}

fn all_ends() -> impl Iterator<Item = (u64, u64, u64)> {
    two_ends().flat_map(|(a, b)| ENDS.into_iter().map(move |c| (a, b, c)))
}

/// Sends events through at all of the ends, one after the other: clocks go back and forth.
fn go_through(mut chain: AdmissionChain) {
    for (now, queued, time) in all_ends() {
        let offer = Offer {
            queued,
            chance: time,
            ..at(now)
        };
        let Ok(admitted) = chain.offer(&offer) else {
            continue;
        };
        if let Ok(running) = chain.take(admitted, &taken(now, time)) {
            let done = Done {
                now: Nanos::new(now),
                response: Nanos::new(time),
            };
            chain.complete(running, &done);
        }
    }
    let counts = chain.counts();
    assert_eq!((counts.waiting(), counts.running()), (0, 0), "{chain:?}");
}

#[test]
#[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
fn policies_of_numbers_take_any() {
    for (a, b) in two_ends() {
        let (span, other) = (Nanos::new(a), Nanos::new(b));
        for chain in [
            AdmissionChain::new().and(Threshold::new(a)),
            AdmissionChain::new().and(ClassFilter::new().with(Class::FIRST, a)),
            AdmissionChain::new().and(Priority::new(a, (b % 256) as u8)),
            AdmissionChain::new().and(Deadline::new(span)),
            AdmissionChain::new().and(ExpectedDelay::new(span)),
            AdmissionChain::new().and(Codel::new(span, other)),
            AdmissionChain::new().and(Credits::new(CreditsOptions::new(span, other))),
        ] {
            go_through(chain);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
fn policies_of_shares_take_any() {
    for share in SHARES {
        for other in SHARES {
            let response_time = ResponseTimeOptions {
                target: Nanos::ZERO,
                responses: 0,
                timeout: Nanos::ZERO,
                smoothing: share,
                error_high: other,
                error_low: share,
                decrease: other,
                increase: share,
                increase_offset: other,
                rate_min: share,
                rate_max: other,
                burst: u64::MAX,
            };
            let credits = CreditsOptions {
                increase: share,
                decrease: other,
                pool_initial: share,
                pool_min: other,
                pool_max: share,
                ..CreditsOptions::new(Nanos::ZERO, Nanos::ZERO)
            };
            let gradient = GradientOptions {
                limit_initial: share,
                limit_min: other,
                limit_max: share,
                smoothing: other,
                long_window: 0,
                tolerance: share,
                headroom: other,
            };
            let early = EarlyDropOptions {
                queued_min: share,
                queued_max: other,
                share_max: share,
                weight: other,
            };
            let rate = Rate::per_second(share);
            let mut with_client = Credits::new(credits);
            with_client.add_client();
            for chain in [
                AdmissionChain::new().and(ResponseTime::new(response_time)),
                AdmissionChain::new().and(with_client),
                AdmissionChain::new().and(Gradient::new(gradient)),
                AdmissionChain::new().and(EarlyDrop::new(early)),
                AdmissionChain::new().and(TokenBucket::new(rate, u64::MAX)),
                AdmissionChain::new().and(TokenBucket::new(Rate::MAX, 0)),
            ] {
                go_through(chain);
            }
        }
    }
}

#[test]
fn a_rate_of_none_admits_its_burst_and_then_nothing_ever() {
    let mut bucket = TokenBucket::new(Rate::ZERO, 3);
    let admitted = ENDS.map(|now| bucket.offer(&at(now)).is_ok());
    assert_eq!(admitted.iter().filter(|admitted| **admitted).count(), 3);
}

#[test]
fn the_highest_rate_fills_the_largest_bucket() {
    let mut bucket = TokenBucket::new(Rate::MAX, u64::MAX);
    assert_eq!(bucket.offer(&at(0)), Ok(()));
    assert_eq!(bucket.offer(&at(u64::MAX)), Ok(()));
    assert!(bucket.tokens() > u64::MAX - 2);
}

#[test]
fn a_client_that_never_was_gets_no_credit() {
    let mut credits = Credits::new(CreditsOptions::new(CODEL_TARGET, CODEL_TARGET));
    let offer = Offer {
        tag: Tag {
            client: ClientId(u32::MAX),
            ..Tag::default()
        },
        ..Offer::default()
    };
    assert_eq!(credits.offer(&offer), Err(Reason::NoCredit));
    credits.set_demand(ClientId(7), 1);
    credits.remove_client(ClientId(7));
    assert_eq!((credits.grant(), credits.issued()), (None, 0));
}
