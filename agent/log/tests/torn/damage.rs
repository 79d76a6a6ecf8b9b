//! Tests that a recording that was cut at any byte, damaged anywhere, or forged yields its intact
//! data, and nothing else.

use std::fs;
use std::io::Read;

use flate2::read::DeflateDecoder;
use proptest::prelude::*;
use vouch_formats::Format;
use vouch_log::Recovered;

use crate::common::{profile, recorded, reread};

#[test]
fn one_that_is_cut_anywhere_has_what_was_written_before() {
    let (bytes, recording) = recorded("cut", 12, true);
    let (mut before, mut whole) = (0, 0);
    for length in 0..bytes.len() {
        let Ok(Recovered { recording: part, meta, found }) = reread(&bytes[..length]) else {
            assert_eq!(
                before,
                0,
                "{length} of {} bytes: nothing, where there was something before",
                bytes.len()
            );
            continue;
        };
        let samples = part.tally().samples.sum();
        assert!(samples >= before && !found.is_ended && found.damage().is_none(), "{length}: {found:?}");
        assert_eq!(meta.report.samples.signals, samples);
        assert!(meta.report.run.engine_notes.iter().any(|note| note.contains("unfinished recording")));
        whole += u64::from(samples > before);
        before = samples;
    }
    assert_eq!((whole, before), (12, recording.tally().samples.sum()));
}

#[test]
fn a_block_that_is_missing_costs_itself_and_what_hangs_on_it() {
    let (bytes, recording) = recorded("gap", 12, true);
    let mut blocks: Vec<usize> = heads(&bytes).collect();
    blocks.push(bytes.len());
    // The first block has the first state, and the last block has only a state.
    for pair in blocks[1..blocks.len() - 1].windows(2) {
        let without = [&bytes[..pair[0]], &bytes[pair[1]..]].concat();
        let Recovered { recording: part, found, .. } = reread(&without).unwrap();
        assert_eq!(found.blocks_missing, 1);
        assert!(found.damage().is_some() && found.is_ended);
        let (all, left) = (recording.tally().samples, part.tally().samples);
        // A block has the four samples of a round. Its count of dropped samples is lost unless a
        // later block repeats it.
        assert!(all.sum() - left.sum() <= 5, "{} of {}", left.sum(), all.sum());
        assert!(
            found.lost.samples <= 4 && all.dropped - (left.dropped - found.lost.samples_without_stack) <= 1
        );
        // No sample may change its fate.
        for (now, then) in
            [(left.proven, all.proven), (left.outside, all.outside), (left.unwalked, all.unwalked)]
        {
            assert!(now <= then);
        }
    }
    // A duplicate block must count once.
    let twice = [&bytes[..], &bytes[blocks[1]..]].concat();
    let Recovered { recording: again, .. } = reread(&twice).unwrap();
    assert_eq!(again.tally(), recording.tally());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), ..ProptestConfig::default() })]

    #[test]
    fn damage_is_no_panic_and_makes_no_sample(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        use std::sync::OnceLock;
        static WHOLE: OnceLock<(Vec<u8>, u64)> = OnceLock::new();
        let (bytes, samples) = WHOLE.get_or_init(|| {
            // `scripts/fuzz` sets this to the recording of a real run.
            let given = std::env::var_os("VOUCH_RECORDING").map(|file| fs::read(file).unwrap());
            let bytes = given.unwrap_or_else(|| recorded("damaged", 30, true).0);
            let samples = reread(&bytes).unwrap().recording.tally().samples.sum();
            assert!(samples > 100);
            (bytes, samples)
        });
        let mut bytes = bytes.clone();
        for (place, byte) in &damage {
            let at = place.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes.drain(cut.index(bytes.len())..);
        if let Ok(Recovered { recording, meta, .. }) = reread(&bytes) {
            prop_assert!(recording.tally().samples.sum() <= *samples);
            profile(&recording, &meta);
        }
    }
}

/// Returns the content length, in bytes, of the block that begins at `at`.
fn length(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize
}

/// Returns the offsets in the file at which blocks begin.
fn heads(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let next = |at: usize| Some(at).filter(|at| *at < bytes.len());
    std::iter::successors(next(16), move |at| next(at + 16 + length(bytes, *at)))
}

/// Forges a recording's file: `spoil` changes each block's content, and the sums are then
/// corrected. The content is either as stored or, if `inflated`, as it was before deflation.
fn resummed(bytes: &[u8], inflated: bool, spoil: impl Fn(usize, &mut Vec<u8>)) -> Vec<u8> {
    let mut file = bytes[..16].to_vec();
    for at in heads(bytes) {
        let (mut mark, stored) = (&bytes[at..at + 4], &bytes[at + 16..at + 16 + length(bytes, at)]);
        let mut content = stored.to_vec();
        if inflated && mark == b"VchZ" {
            (mark, content) = (b"VchB", Vec::new());
            DeflateDecoder::new(stored).read_to_end(&mut content).unwrap();
        }
        spoil(at, &mut content);
        let begin = file.len();
        file.extend(mark);
        file.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        file.extend(crc32fast::hash(&content).to_le_bytes());
        file.extend(crc32fast::hash(&file[begin..]).to_le_bytes());
        file.extend(content);
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), ..ProptestConfig::default() })]

    #[test]
    fn a_file_that_lies_is_no_panic(
        lies in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..12),
        inflated in any::<bool>(),
    ) {
        use std::sync::OnceLock;
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
        let bytes = WHOLE.get_or_init(|| recorded("lies", 12, true).0);
        let places: Vec<(usize, &prop::sample::Index, u8)> =
            lies.iter().map(|(block, place, byte)| (block.index(bytes.len()), place, *byte)).collect();
        let file = resummed(bytes, inflated, |at, content| {
            for (block, place, byte) in &places {
                if (at..at + 16 + length(bytes, at)).contains(block) && !content.is_empty() {
                    let place = place.index(content.len());
                    content[place] = *byte;
                }
            }
        });
        if let Ok(Recovered { recording, meta, .. }) = reread(&file) {
            profile(&recording, &meta);
            for ending in ["a.folded", "a.html"] {
                Format::from_file_name(ending).unwrap().write(&recording, &meta, &mut std::io::sink()).unwrap();
            }
            meta.report.summary(vouch_report::Files::default(), vouch_report::Detail::Verbose);
        }
    }
}
