use mely_sim::explore::{Fault, Program, execute};
fn main() {
    for fault in Fault::ALL {
        let seeds = if fault == Fault::NoSleep { 6 } else { 200 };
        let (mut found, mut first, mut wrong) = (0, None, Vec::new());
        for seed in 0..seeds {
            if let Some(v) = execute(&Program::random(seed), Some(fault)).violation {
                if v.invariant != fault.check() {
                    wrong.push((seed, v.to_string()));
                } else { found += 1; first.get_or_insert(seed); }
            }
        }
        println!("{fault:?} {} found {found} first {first:?} wrong {}: {:?}", fault.check(), wrong.len(), wrong.first());
    }
}
