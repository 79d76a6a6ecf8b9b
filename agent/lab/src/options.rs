//! The options of the lab: `lab`, `lab=KIND`, `break=KIND/N` and `engine=hammer`.

use std::time::Duration;

use vouch::lab_hooks::{Lab, LabOptions, set_lab};
use vouch_report::Error;
use vouch_report::options::value::{choice, count};
use vouch_sampling::engine::ExternalEngine;

use crate::broken::{BREAKS, BreakOneIn};
use crate::hammer::Hammer;
use crate::true_stacks::TrueStacks;

/// The lab, as the agent finds it.
#[derive(Debug)]
struct TruthLab;

/// The dynamic loader calls this when it has loaded the library.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOADED: extern "C" fn() = on_loaded;

extern "C" fn on_loaded() {
    set_lab(&TruthLab);
}

/// The kinds of the option `lab`.
#[derive(Clone, Copy)]
enum LabKind {
    /// Method ids are not created in advance, so that a test sees the effect.
    LateIds,
    /// Samples come from GetStackTrace. Proof must refute none of them.
    TrueStacks,
    /// The cost of sampling is checked after one second of CPU time instead of ten.
    EarlyBudget,
}

const KINDS: [(&str, LabKind); 3] = [
    ("late-ids", LabKind::LateIds),
    ("true-stacks", LabKind::TrueStacks),
    ("early-budget", LabKind::EarlyBudget),
];

const ENGINES: [(&str, &dyn ExternalEngine); 1] = [("hammer", &Hammer)];

impl Lab for TruthLab {
    fn apply(&self, options: &mut LabOptions, name: &str, value: Option<&str>) -> Result<(), Error> {
        match (name, value) {
            ("break", Some(value)) => {
                let (kind, every) = value.split_once('/').unwrap_or((value, "1"));
                let every = u32::try_from(count(every, 1, 1_000_000)?).unwrap_or(1);
                let wrapper = BreakOneIn { how: choice(kind, &BREAKS)?, every };
                options.walker = Some(Box::leak(Box::new(wrapper)));
            }
            ("engine", Some(value)) => options.engine = Some(choice(value, &ENGINES)?),
            (_, None) => options.records_nothing = true,
            (_, Some(value)) => match choice(value, &KINDS)? {
                LabKind::LateIds => {
                    options.late_ids = true;
                    options.records_nothing = true;
                }
                LabKind::TrueStacks => options.source = Some(|| Box::new(TrueStacks::default())),
                LabKind::EarlyBudget => options.free = Some(Duration::from_secs(1)),
            },
        }
        Ok(())
    }

    fn message(&self) -> &'static str {
        "lab: nothing is recorded, the natives of dev.vouch.Oracle are served"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(parts: &[(&str, Option<&str>)]) -> LabOptions {
        let mut options = LabOptions::default();
        for (name, value) in parts {
            TruthLab.apply(&mut options, name, *value).unwrap();
        }
        options
    }

    #[test]
    fn the_lab_records_nothing_or_changes_one_thing() {
        assert!(options(&[("lab", None)]).records_nothing);
        let late = options(&[("lab", Some("late-ids")), ("break", Some("gap"))]);
        assert!(late.records_nothing && late.late_ids);
        assert!(late.walker.unwrap().warning().contains("(Gap, one walk of 1)"));
        let early = options(&[("lab", Some("early-budget")), ("break", Some("crashed/100"))]);
        assert!(!early.records_nothing && !early.walker.unwrap().is_comparable());
        assert_eq!(early.free, Some(Duration::from_secs(1)));
        assert!(options(&[("lab", Some("true-stacks"))]).source.is_some());
        assert_eq!(options(&[("engine", Some("hammer"))]).engine.unwrap().name(), "hammer");
    }

    #[test]
    fn an_unknown_kind_is_refused_with_those_that_exist() {
        let mistake = |name: &str, value: &str| {
            let refused = TruthLab.apply(&mut LabOptions::default(), name, Some(value));
            refused.unwrap_err().to_string()
        };
        assert!(mistake("break", "all").contains("truncated"));
        assert!(mistake("break", "gap/0").contains("from 1 to 1000000"));
        assert!(mistake("lab", "late").contains("late-ids"));
    }
}
