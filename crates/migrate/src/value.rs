//! Values of the binary log, as texts and as literals for statements.
//!
//! A literal stores the same bits as at the source, in a session with `SET NAMES binary` and `time_zone='+00:00'`.

use binlog::{
    Value,
    value::{Timestamp, WholeDoubles},
};

use crate::{Column, NotWritable, fixed_binary, literal};

/// Whether a column is UNSIGNED.
#[must_use]
pub(crate) fn is_unsigned(column: &Column) -> bool {
    column.column_type.contains("unsigned")
}

/// The text that a server sends for a value of a key; `None` for NULL and for types that keys cannot have.
#[must_use]
pub(crate) fn text(value: &Value<'_>, unsigned: bool) -> Option<Vec<u8>> {
    Some(match value {
        Value::Integer(integer) if unsigned => integer.as_unsigned().to_string().into_bytes(),
        Value::Integer(integer) => integer.as_signed().to_string().into_bytes(),
        Value::Year(year) => year.to_string().into_bytes(),
        Value::Decimal(decimal) => decimal.to_string().into_bytes(),
        Value::Date(date) => date.to_string().into_bytes(),
        Value::Time(time) => time.to_string().into_bytes(),
        Value::DateTime(moment) => moment.to_string().into_bytes(),
        Value::Timestamp(moment) => timestamp(moment).into_bytes(),
        Value::Bit { value, .. } => value.to_be_bytes().to_vec(),
        Value::String(bytes) => bytes.to_vec(),
        _ => return None,
    })
}

/// Appends a value as a literal.
///
/// # Errors
/// [`NotWritable`].
pub(crate) fn write(
    out: &mut Vec<u8>,
    value: Option<&Value<'_>>,
    column: &Column,
    doubles: WholeDoubles,
) -> Result<(), NotWritable> {
    if let (Some(Value::String(bytes)), Some(length)) = (value, fixed_binary::length(column)) {
        out.extend_from_slice(fixed_binary::literal(bytes, length).as_bytes());
        return Ok(());
    }
    match value.ok_or(NotWritable::Missing)? {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Integer(_) | Value::Year(_) | Value::Decimal(_) => {
            out.extend(value.and_then(|value| text(value, is_unsigned(column))).ok_or(NotWritable::Type)?);
        }
        // Every FLOAT is also a DOUBLE, and the shortest decimal text of a DOUBLE is read back as the same bits.
        Value::Float(float) => out.extend(format!("{:e}", f64::from(*float)).into_bytes()),
        Value::Double(double) => out.extend(format!("{double:e}").into_bytes()),
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) => {
            let text = value.and_then(|value| text(value, false)).ok_or(NotWritable::Type)?;
            literal::quote_into(out, &text);
        }
        Value::Bit { value, .. } | Value::Set { value, .. } => out.extend(value.to_string().into_bytes()),
        Value::Enum(index) => out.extend(index.to_string().into_bytes()),
        Value::String(bytes) | Value::Blob(bytes) | Value::Geometry(bytes) | Value::Vector(bytes) => {
            literal::quote_into(out, bytes);
        }
        Value::Json(json) => {
            let text = json.exact_text(doubles).map_err(|_| NotWritable::Type)?.ok_or(NotWritable::JsonScalar)?;
            out.extend_from_slice(b"CONVERT(");
            literal::quote_into(out, &text);
            out.extend_from_slice(b" USING utf8mb4)");
        }
        Value::JsonChanges(_) => return Err(NotWritable::PartialJson),
        _ => return Err(NotWritable::Type),
    }
    Ok(())
}

/// A TIMESTAMP in UTC. Second zero stands for the zero date.
fn timestamp(moment: &Timestamp) -> String {
    let fraction = fraction(moment.microseconds, moment.decimals);
    if moment.seconds == 0 {
        return format!("0000-00-00 00:00:00{fraction}");
    }
    let whole = jiff::Timestamp::from_second(i64::from(moment.seconds)).unwrap_or_default();
    format!("{}{fraction}", whole.strftime("%Y-%m-%d %H:%M:%S"))
}

fn fraction(microseconds: u32, decimals: u8) -> String {
    let digits = format!("{microseconds:06}");
    match digits.get(..usize::from(decimals)) {
        None | Some("") => String::new(),
        Some(digits) => format!(".{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_in_utc() {
        let at = |seconds, microseconds, decimals| timestamp(&Timestamp { seconds, microseconds, decimals });
        assert_eq!(at(0, 0, 0), "0000-00-00 00:00:00");
        assert_eq!(at(1, 120_000, 2), "1970-01-01 00:00:01.12");
        assert_eq!(at(2_147_483_647, 999_999, 6), "2038-01-19 03:14:07.999999");
        assert_eq!(at(u32::MAX, 0, 0), "2106-02-07 06:28:15");
    }
}
