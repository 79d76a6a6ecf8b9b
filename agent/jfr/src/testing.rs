//! Makes small recordings for tests, including ones that no JVM would write.

/// A type to write to the metadata of a test's recording.
#[derive(Debug, Clone, Copy)]
pub struct Declared<'a> {
    pub id: i64,
    pub name: &'a str,
    pub annotations: &'a [(i64, &'a str)],
    pub event: bool,
    pub fields: &'a [DeclaredField<'a>],
}

/// A field to write to the metadata of a test's recording.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredField<'a> {
    pub name: &'a str,
    pub type_id: i64,
    pub constant: bool,
    pub list: bool,
    pub annotations: &'a [(i64, &'a str)],
}

/// Declares a field with a value in place.
pub const fn plain(name: &str, type_id: i64) -> DeclaredField<'_> {
    DeclaredField { name, type_id, constant: false, list: false, annotations: &[] }
}

/// Declares a field that refers to a constant.
pub const fn constant(name: &str, type_id: i64) -> DeclaredField<'_> {
    DeclaredField { constant: true, ..plain(name, type_id) }
}

/// Encodes a variable-length number.
pub fn long(number: i64) -> Vec<u8> {
    let mut rest = number.cast_unsigned();
    let mut bytes = Vec::new();
    while bytes.len() < 8 {
        let [low, ..] = (rest & 0x7f).to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
    bytes.push(rest.to_le_bytes()[0]);
    bytes
}

fn length(count: usize) -> Vec<u8> {
    long(i64::try_from(count).unwrap())
}

/// Encodes a text in UTF-8.
pub fn text(text: &str) -> Vec<u8> {
    [vec![3], length(text.len()), text.as_bytes().to_vec()].concat()
}

/// Encodes an event, or another part with a size and a type.
pub fn event(type_id: i64, body: &[Vec<u8>]) -> Vec<u8> {
    let body = [long(type_id), body.concat()].concat();
    // The size always takes four bytes, as the JVM reserves them.
    let size = u32::try_from(body.len() + 4).unwrap();
    let size = [size | 0x80, size >> 7 | 0x80, size >> 14 | 0x80, size >> 21 & 0x7f]
        .map(|part| part.to_le_bytes()[0]);
    [size.to_vec(), body].concat()
}

/// The constants of one type: the type id, and each constant with its index.
pub type Constants = (i64, Vec<(i64, Vec<u8>)>);

/// Makes a chunk that begins at these ticks, which are this time since 1970. Its clock has one tick
/// each nanosecond.
pub fn chunk(
    types: &[Declared<'_>],
    constants: &[Constants],
    events: &[Vec<u8>],
    (start_ticks, start_unix_ns): (i64, i64),
) -> Vec<u8> {
    let mut data = vec![0; 68];
    data.extend(events.concat());
    let constants_at = data.len();
    let pools: Vec<u8> = constants
        .iter()
        .flat_map(|(type_id, values)| {
            let values = values.iter().flat_map(|(index, value)| [long(*index), value.clone()].concat());
            [long(*type_id), length(constants_of(constants, *type_id)), values.collect()].concat()
        })
        .collect();
    data.extend(event(1, &[long(0), long(0), long(0), vec![0], length(constants.len()), pools]));
    let metadata_at = data.len();
    data.extend(event(0, &[long(0), long(0), long(1), metadata(types)]));
    let header = [data.len(), constants_at, metadata_at].map(|number| i64::try_from(number).unwrap());
    let numbers = [header[0], header[1], header[2], start_unix_ns, 1_000_000, start_ticks, 1_000_000_000];
    data[..8].copy_from_slice(b"FLR\0\0\x02\0\x01");
    for (row, number) in numbers.iter().enumerate() {
        data[8 + row * 8..16 + row * 8].copy_from_slice(&number.to_be_bytes());
    }
    data[64..68].copy_from_slice(&1_u32.to_be_bytes());
    data
}

fn constants_of(constants: &[Constants], type_id: i64) -> usize {
    constants.iter().find(|(known, _)| *known == type_id).map_or(0, |(_, values)| values.len())
}

#[derive(Default)]
struct Strings(Vec<String>);

impl Strings {
    fn row(&mut self, text: &str) -> Vec<u8> {
        let known = self.0.iter().position(|known| known == text);
        length(known.unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        }))
    }

    fn element(&mut self, name: &str, attributes: &[(&str, &str)], children: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = [self.row(name), length(attributes.len())].concat();
        for (key, value) in attributes {
            bytes.extend(self.row(key));
            bytes.extend(self.row(value));
        }
        bytes.extend(length(children.len()));
        bytes.extend(children.concat());
        bytes
    }

    fn annotations(&mut self, annotations: &[(i64, &str)]) -> Vec<Vec<u8>> {
        let each = annotations.iter().map(|(type_id, value)| {
            // The annotation of a category has numbered parts; other annotations have one value.
            self.element(
                "annotation",
                &[("class", &type_id.to_string()), ("value", value), ("value-0", value)],
                &[],
            )
        });
        each.collect()
    }
}

fn metadata(types: &[Declared<'_>]) -> Vec<u8> {
    let mut strings = Strings::default();
    let classes: Vec<Vec<u8>> = types
        .iter()
        .map(|declared| {
            let mut children = strings.annotations(declared.annotations);
            for field in declared.fields {
                let annotations = strings.annotations(field.annotations);
                let type_id = field.type_id.to_string();
                let mut attributes = vec![("name", field.name), ("class", type_id.as_str())];
                if field.constant {
                    attributes.push(("constantPool", "true"));
                }
                if field.list {
                    attributes.push(("dimension", "1"));
                }
                children.push(strings.element("field", &attributes, &annotations));
            }
            let id = declared.id.to_string();
            let mut attributes = vec![("id", id.as_str()), ("name", declared.name)];
            if declared.event {
                attributes.push(("superType", "jdk.jfr.Event"));
            }
            strings.element("class", &attributes, &children)
        })
        .collect();
    let metadata = strings.element("metadata", &[], &classes);
    let region = strings.element("region", &[("locale", "en_GB"), ("gmtOffset", "0")], &[]);
    let root = strings.element("root", &[], &[metadata, region]);
    let texts: Vec<u8> = strings.0.iter().flat_map(|known| text(known)).collect();
    [length(strings.0.len()), texts, root].concat()
}
