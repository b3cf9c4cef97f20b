//! Which event of this processor is a miss of its level 2 cache.

/// The number of the event, for a raw counter; `None` where it is not known.
pub(super) fn l2_misses() -> Option<u64> {
    match cfg!(target_arch = "aarch64") {
        true => Some(ARM_L2D_CACHE_REFILL),
        false => l2_misses_of(&std::fs::read_to_string("/proc/cpuinfo").ok()?),
    }
}

/// L2D_CACHE_REFILL, an event of the architecture: Arm Architecture Reference Manual for A-profile
/// (DDI 0487), "Common event numbers". The kernel refuses it where the core does not have it.
const ARM_L2D_CACHE_REFILL: u64 = 0x17;

/// Misses in level 2 of what misses level 1, data and instructions, without the level 2
/// prefetcher: event 0x64, mask 0x09 (`l2_cache_req_stat.ic_dc_miss_in_l2` in Linux'
/// `tools/perf/pmu-events/arch/x86/amdzen1/cache.json`). `arch/x86/events/amd/core.c` has it for
/// family 17h and later.
const ZEN_L2_MISS: u64 = 0x0964;

/// L2_RQSTS.MISS, event 0x24, mask 0x3f: all requests that miss, with those of the prefetchers
/// (Linux' `tools/perf/pmu-events/arch/x86/skylake/cache.json`).
const SKYLAKE_L2_MISS: u64 = 0x3f24;

/// The same, of Nehalem and Westmere: mask 0xaa (`nehalemep/cache.json`).
const NEHALEM_L2_MISS: u64 = 0xaa24;

/// By the text of `/proc/cpuinfo`.
fn l2_misses_of(cpuinfo: &str) -> Option<u64> {
    let field = |name: &str| {
        let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(field, _)| field.trim() == name)?;
        Some(value.trim())
    };
    let number = |name| field(name)?.parse::<u32>().ok();
    match (field("vendor_id")?, number("cpu family")?, number("model")?) {
        ("AuthenticAMD", 0x17 | 0x19 | 0x1a, _) | ("HygonGenuine", 0x18, _) => Some(ZEN_L2_MISS),
        ("GenuineIntel", 6, model) => l2_misses_of_intel(model),
        _ => None,
    }
}

/// By the models of Linux' `tools/perf/pmu-events/arch/x86/mapfile.csv`. Left out are those that
/// have no such event (Sandy Bridge), whose event is called not supported (Ice Lake), and
/// those with two kinds of cores, which do not count the same.
fn l2_misses_of_intel(model: u32) -> Option<u64> {
    match model {
        0x1a | 0x1e | 0x1f | 0x2e | 0x25 | 0x2c | 0x2f => Some(NEHALEM_L2_MISS),
        // Haswell and Broadwell.
        0x3c | 0x3f | 0x45 | 0x46 | 0x3d | 0x47 | 0x4f | 0x56 => Some(SKYLAKE_L2_MISS),
        // Skylake, Kaby Lake, Comet Lake, Cascade Lake.
        0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6 | 0x55 => Some(SKYLAKE_L2_MISS),
        // Sapphire and Emerald Rapids.
        0x8f | 0xcf => Some(SKYLAKE_L2_MISS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vendor: &str, family: u32, model: u32) -> Option<u64> {
        let text = format!(
            "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n\
             model name\t: Some: 1\n\nprocessor\t: 1\n"
        );
        l2_misses_of(&text)
    }

    #[test]
    fn processors_are_known_by_vendor_family_and_model() {
        for family in [23, 25, 26] {
            assert_eq!(of("AuthenticAMD", family, 1), Some(ZEN_L2_MISS));
        }
        assert_eq!(of("GenuineIntel", 6, 85), Some(SKYLAKE_L2_MISS));
        assert_eq!(of("GenuineIntel", 6, 44), Some(NEHALEM_L2_MISS));
        assert_eq!(of("GenuineIntel", 6, 106), None, "Ice Lake");
        assert_eq!(of("AuthenticAMD", 21, 1), None, "before Zen");
        assert_eq!(of("Somebody", 6, 85), None);
        for nothing in ["", "processor: 0\n", "vendor_id: GenuineIntel\n"] {
            assert_eq!(l2_misses_of(nothing), None, "{nothing:?}");
        }
    }
}
