//! Reads the attributes by which OpenTelemetry knows a service from the environment variables that
//! its SDKs read.

/// The attribute with the name of the service.
const SERVICE_NAME: &str = "service.name";
/// The name of a service that has none. OpenTelemetry's specification prescribes its form.
const UNKNOWN_SERVICE: &str = "unknown_service:java";

/// Returns the attributes from the values of `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
/// The name of the service is the first.
///
/// The second variable has the form `key=value,key=value`, with `%` and two hexadecimal digits for
/// each byte that would be misread. If a part of it has another form, all of it is ignored, as the
/// specification demands.
pub fn resource_attributes(service: Option<&str>, attributes: Option<&str>) -> Vec<(String, String)> {
    let attributes = attributes.and_then(key_values).unwrap_or_default();
    let named = attributes.iter().find(|(key, _)| key == SERVICE_NAME).map(|(_, value)| value.clone());
    let service = service.filter(|name| !name.is_empty()).map(str::to_owned);
    let service = service.or(named).unwrap_or_else(|| UNKNOWN_SERVICE.to_owned());
    let mut all = vec![(SERVICE_NAME.to_owned(), service)];
    for (key, value) in attributes {
        if all.iter().all(|(known, _)| *known != key) {
            all.push((key, value));
        }
    }
    all
}

/// Parses `key=value,key=value`, the form of OpenTelemetry's variables with several values.
pub fn key_values(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (key, value) = part.split_once('=')?;
        let key = decoded(key.trim()).filter(|key| !key.is_empty())?;
        Some((key, decoded(value.trim())?))
    });
    pairs.collect()
}

/// Replaces each `%` and its two digits by the byte that they stand for.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(service: Option<&str>, attributes: Option<&str>) -> Vec<(String, String)> {
        resource_attributes(service, attributes)
    }

    fn expected(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_service_has_a_name_in_any_case() {
        assert_eq!(pairs(None, None), expected(&[("service.name", "unknown_service:java")]));
        assert_eq!(pairs(Some(""), Some("")), expected(&[("service.name", "unknown_service:java")]));
        assert_eq!(pairs(Some("shop"), None), expected(&[("service.name", "shop")]));
    }

    #[test]
    fn attributes_are_decoded_and_the_service_variable_wins() {
        let text = "service.name=other, service.version=2%2E1,team=%C3%A9quipe,empty=,team=again";
        assert_eq!(
            pairs(Some("shop"), Some(text)),
            expected(&[
                ("service.name", "shop"),
                ("service.version", "2.1"),
                ("team", "équipe"),
                ("empty", "")
            ])
        );
        assert_eq!(pairs(None, Some(text))[0].1, "other");
    }

    #[test]
    fn attributes_of_another_form_are_ignored_altogether() {
        for text in ["team", "a=b,team", "a=%4", "a=%zz", "a=%ff", "=b"] {
            assert_eq!(
                pairs(None, Some(text)),
                expected(&[("service.name", "unknown_service:java")]),
                "{text}"
            );
        }
    }
}
