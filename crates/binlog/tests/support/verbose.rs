//! Rows in the text form of `mysqlbinlog -v`.
//!
//! Source: `Rows_log_event::print_verbose` of MySQL and MariaDB.

use std::collections::BTreeSet;

use binlog::{
    Body, Decoder, Event, EventType, Limits, LogFile, Value,
    event::{Change, Row, Rows},
    value::{Integer, JsonChanges, JsonOperation},
};
use files::ReadAt;

/// The family whose tool is imitated: their output differs in details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    MySql,
    MariaDb,
}

/// Prints the rows of events.
pub(crate) struct Printer {
    family: Family,
    /// The rows.
    pub(crate) lines: Vec<Vec<u8>>,
    /// Types of the events, also of those inside of compressed transactions.
    pub(crate) kinds: BTreeSet<EventType>,
}

/// Prints the rows of a log.
pub(crate) fn print<R: ReadAt>(log: &mut LogFile<'_, R>, family: Family) -> Printer {
    let mut printer = Printer::new(family);
    loop {
        let inside = match log.next_event().unwrap() {
            None => return printer,
            Some((_, event)) => printer.event(&event),
        };
        printer.inside(log.decoder(), &inside);
    }
}

impl Printer {
    pub(crate) fn new(family: Family) -> Self {
        Self { family, lines: Vec::new(), kinds: BTreeSet::new() }
    }

    /// Prints an event; returns the events inside of a compressed transaction.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> Vec<Vec<u8>> {
        let mut inside = Vec::new();
        self.kinds.insert(event.header.kind);
        match &event.body {
            Body::Rows(rows) => self.rows(rows),
            Body::Payload(payload) => {
                let mut events = payload.events(&Limits::default()).unwrap();
                while let Some(event) = events.next_event().unwrap() {
                    inside.push(event.to_vec());
                }
            }
            _ => {}
        }
        inside
    }

    pub(crate) fn inside(&mut self, decoder: &mut Decoder, events: &[Vec<u8>]) {
        for event in events {
            let event = decoder.decode_inside(event).unwrap();
            self.event(&event);
        }
    }

    fn line(&mut self, text: impl Into<Vec<u8>>) {
        self.lines.push(text.into());
    }

    fn rows(&mut self, rows: &Rows<'_>) {
        let Some(table) = rows.table.clone() else { return };
        if let [1, partition @ ..] = rows.extra {
            let part = |at: usize| u16::from_le_bytes([partition[at], partition[at + 1]]);
            let text = match rows.change {
                Change::Update | Change::PartialUpdate => {
                    format!("source_partition: {} target_partition: {}", part(2), part(0))
                }
                _ => format!("partition: {}", part(0)),
            };
            self.line(format!("### Extra row info for partitioning: {text}"));
        }
        let verb = match rows.change {
            Change::Insert => "INSERT INTO",
            Change::Update | Change::PartialUpdate => "UPDATE",
            Change::Delete => "DELETE FROM",
        };
        let name = format!("{}.{}", quoted_name(&table.database), quoted_name(&table.name));
        for change in rows.changes().unwrap() {
            let change = change.unwrap();
            self.line(format!("### {verb} {name}"));
            if let Some(before) = &change.before {
                self.line("### WHERE");
                self.row(before);
            }
            if let Some(after) = &change.after {
                self.line("### SET");
                self.row(after);
            }
        }
    }

    fn row(&mut self, row: &Row<'_>) {
        for (index, value) in row.iter().enumerate() {
            let Some(value) = value else { continue };
            let name = format!("@{}", index + 1);
            let mut line = format!("###   {name}=").into_bytes();
            line.extend(value_text(value, &name, self.family));
            // Changes of JSON take several lines.
            self.lines.extend(line.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
        }
    }
}

fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn value_text(value: &Value<'_>, name: &str, family: Family) -> Vec<u8> {
    match value {
        Value::Null => b"NULL".to_vec(),
        Value::Integer(integer) => integer_text(integer).into_bytes(),
        Value::Float(float) => format!("{:<20}", general(f64::from(*float), 6)).into_bytes(),
        Value::Double(double) => general(*double, 20).into_bytes(),
        Value::Decimal(decimal) => decimal.to_string().into_bytes(),
        Value::Year(0) => b"1900".to_vec(),
        Value::Year(year) => format!("{year:04}").into_bytes(),
        Value::Date(date) => format!("'{:04}:{:02}:{:02}'", date.year, date.month, date.day).into_bytes(),
        Value::Time(time) => format!("'{time}'").into_bytes(),
        Value::DateTime(time) => format!("'{time}'").into_bytes(),
        Value::Timestamp(time) => time.to_string().into_bytes(),
        Value::Bit { value, bits } => bits_text(*value, u32::from(*bits)).into_bytes(),
        Value::Enum(index) => index.to_string().into_bytes(),
        Value::Set { value, bytes } => {
            // The tool prints the bytes of the set as they are stored, the lowest first.
            let stored = value.to_le_bytes();
            let texts: Vec<String> = stored[..usize::from(*bytes)].iter().map(|byte| format!("{byte:08b}")).collect();
            format!("b'{}'", texts.concat()).into_bytes()
        }
        Value::String(bytes) | Value::Blob(bytes) | Value::Geometry(bytes) | Value::Vector(bytes) => {
            quoted(bytes, family)
        }
        Value::Compressed(column) => quoted(column.stored(), family),
        Value::Json(json) => quoted(&unquoted(json.text().unwrap()), family),
        Value::JsonChanges(changes) => json_changes(changes, name, family),
        other => panic!("no text for {other:?}"),
    }
}

fn integer_text(integer: &Integer) -> String {
    let (signed, unsigned) = (integer.as_signed(), integer.as_unsigned());
    if signed < 0 { format!("{signed} ({unsigned})") } else { signed.to_string() }
}

fn bits_text(value: u64, bits: u32) -> String {
    format!("b'{value:0width$b}'", width = bits as usize)
}

fn quoted(bytes: &[u8], family: Family) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in bytes {
        match byte {
            8 | 9 | 10 | 12 | 13 if family == Family::MySql => {
                let letter = b"btn_fr"[usize::from(*byte) - 8];
                text.extend([b'\\', letter]);
            }
            0..=0x1f => text.extend(format!("\\x{byte:02x}").bytes()),
            b'\'' | b'\\' if family == Family::MySql => text.extend([b'\\', *byte]),
            _ => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

fn json_changes(changes: &JsonChanges<'_>, name: &str, family: Family) -> Vec<u8> {
    const NEXT: &[u8] = b"\n###      ";
    let changes: Vec<_> = changes.iter().map(Result::unwrap).collect();
    let names: Vec<&str> = changes
        .iter()
        .map(|change| match change.operation {
            JsonOperation::Replace => "JSON_REPLACE",
            JsonOperation::Insert if change.path.ends_with(b"]") => "JSON_ARRAY_INSERT",
            JsonOperation::Insert => "JSON_INSERT",
            JsonOperation::Remove => "JSON_REMOVE",
        })
        .collect();
    let mut text = Vec::new();
    for (index, function) in names.iter().enumerate().rev() {
        if index == 0 || names[index - 1] != *function {
            if !text.is_empty() {
                text.extend(NEXT);
            }
            text.extend(format!("{function}(").bytes());
        }
    }
    text.extend(name.bytes());
    if changes.is_empty() {
        return text;
    }
    text.extend(b", ");
    for (index, change) in changes.iter().enumerate() {
        text.extend(quoted(change.path, family));
        if let Some(value) = change.text().unwrap() {
            text.extend(b", ");
            text.extend(json_value(&value, family));
        }
        let last = index + 1 == changes.len();
        if last || names[index + 1] != names[index] {
            text.push(b')');
        }
        if !last {
            text.push(b',');
            text.extend(NEXT);
        }
    }
    text
}

fn json_value(text: &[u8], family: Family) -> Vec<u8> {
    match text.first() {
        Some(b'{' | b'[') => [b"CAST(", quoted(text, family).as_slice(), b" AS JSON)"].concat(),
        Some(b'"') => quoted(&unquoted(text.to_vec()), family),
        _ => text.to_vec(),
    }
}

/// A JSON text that is one string: without its quotes and escapes, as the tool prints it. Others as they are.
fn unquoted(text: Vec<u8>) -> Vec<u8> {
    let [b'"', inner @ .., b'"'] = text.as_slice() else { return text };
    let mut found = Vec::new();
    let mut rest = inner;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        if *byte != b'\\' {
            found.push(*byte);
            continue;
        }
        let [letter, behind @ ..] = rest else { panic!("an escape ends early") };
        rest = behind;
        match letter {
            b'u' => {
                let (digits, behind) = rest.split_at(4);
                found.push(u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap());
                rest = behind;
            }
            letter => found.push(match letter {
                b'b' => 8,
                b't' => 9,
                b'n' => 10,
                b'f' => 12,
                b'r' => 13,
                other => *other,
            }),
        }
    }
    found
}

/// C's `%.*g`.
fn general(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= i32::try_from(digits).unwrap() {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(i32::try_from(digits).unwrap() - 1 - exponent).unwrap();
    trim(&format!("{number:.decimals$}"))
}
