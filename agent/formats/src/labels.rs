//! The names by which pprof and OpenTelemetry have what samples count, and the values of contexts.

use vouch_recording::measures::CPU;
use vouch_recording::{ContextId, Measure, Recording, StringId, TRACE};
use vouch_report::{Clock, TrustReport};

/// Returns the names and units of a measure's values. The last value is the amount. The one before
/// it, if there is one, is the number of events.
pub fn value_types(measure: &Measure, report: &TrustReport) -> Vec<(String, &'static str)> {
    match (&report.event, report.clock, &report.run.recorder) {
        (Some(event), _, _) if *measure == CPU => vec![(event.clone(), "count")],
        (_, clock, recorder) if *measure == CPU => {
            let time = match (clock, recorder) {
                (Some(Clock::Wall), _) => "wall",
                (Some(Clock::Cpu), _) | (None, None) => "cpu",
                (None, Some(_)) => "time",
            };
            vec![("samples".to_owned(), "count"), (time.to_owned(), "nanoseconds")]
        }
        _ => measure.pprof.iter().map(|(name, unit)| ((*name).to_owned(), *unit)).collect(),
    }
}

/// A value of a field of a context.
pub struct ContextLabel {
    /// `KIND.FIELD`, or the field alone if the context is a trace.
    pub key: String,
    pub value: StringId,
    pub is_trace: bool,
}

/// Returns the values of a context and of those around it, the innermost first. Of several contexts
/// of one kind only the innermost counts.
pub fn context_labels(recording: &Recording, context: Option<ContextId>) -> Vec<ContextLabel> {
    let (text, contexts) = (|id| recording.strings().get(id), recording.contexts());
    let mut labels: Vec<ContextLabel> = Vec::new();
    for row in contexts.outwards(context).map(|id| contexts.get(id)) {
        let kind = contexts.kind(row.kind);
        let is_trace = text(kind.class) == TRACE;
        for (field, value) in kind.fields.iter().zip(&row.values) {
            let field = text(field.key);
            let key = if is_trace { field.to_owned() } else { format!("{}.{field}", text(kind.label)) };
            if labels.iter().all(|known| known.key != key) {
                labels.push(ContextLabel { key, value: *value, is_trace });
            }
        }
    }
    labels
}
