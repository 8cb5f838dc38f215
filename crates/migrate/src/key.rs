//! Keys of rows, compared by this program in the order of the server's index.
//!
//! Each part of a key is kept twice: as the text that a server sends for it, and as bytes that sort like the values.
//! All compared keys come from one server: from its text protocol and its binary log. Keys with texts of which only
//! servers know the order have the order of their bytes until [`Weights`](crate::weights::Weights) has set it.

use std::{borrow::Cow, cmp::Ordering};

use binlog::Value;
use server::quote;

use crate::{
    Table,
    catalog::Order,
    literal,
    value::{self, is_unsigned},
};

/// Most digits that a DECIMAL can have before the point, and after it.
const WHOLE_DIGITS: usize = 65;
const FRACTION_DIGITS: usize = 38;

/// A part of an identity.
#[derive(Clone, Debug)]
struct Part {
    sorted: Vec<u8>,
    /// What is taken to follow `sorted`, again and again; `sorted` never ends with it. Empty for nothing.
    padding: Cow<'static, [u8]>,
    text: Vec<u8>,
}

impl Part {
    /// Compares in the order of the server's index.
    fn compare(&self, other: &Self) -> Ordering {
        let (one, other) = (self.sorted.as_slice(), other.sorted.as_slice());
        let padding = &*self.padding;
        if padding.is_empty() {
            return one.cmp(other);
        }
        let shared = one.len().min(other.len());
        let (head, rest) = one.split_at(shared);
        let (other_head, other_rest) = other.split_at(shared);
        let to_padding = |rest: &[u8]| {
            let mut units = rest.chunks(padding.len());
            units.find(|unit| *unit != padding).map_or(Ordering::Equal, |unit| unit.cmp(padding))
        };
        // Only one of them has a rest.
        head.cmp(other_head).then_with(|| to_padding(rest)).then_with(|| to_padding(other_rest).reverse())
    }

    /// Sets what the part is compared by.
    fn sort_by(&mut self, mut sorted: Vec<u8>, padding: Cow<'static, [u8]>) {
        while !padding.is_empty() && sorted.ends_with(&padding) {
            sorted.truncate(sorted.len().saturating_sub(padding.len()));
        }
        (self.sorted, self.padding) = (sorted, padding);
    }
}

/// The identity of a row.
#[derive(Clone, Debug)]
pub(crate) struct Key(Vec<Part>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let mut parts = self.0.iter().zip(&other.0).map(|(one, other)| one.compare(other));
        parts.find(|order| order.is_ne()).unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|part| part.sorted.hash(state));
    }
}

impl Key {
    /// Whether it has no parts: all rows of a table without a key have this one.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The texts of the key's parts, as the server sends them.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|part| part.text.as_slice())
    }
}

/// A column of an identity.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumn {
    /// Position in the table.
    pub(crate) position: usize,
    /// Its name, quoted.
    pub(crate) name: String,
    order: Order,
    unsigned: bool,
    /// Character set and collation of a text; empty for other types.
    text: [String; 2],
}

/// The columns of a table's identity; none if this program cannot compare it. All rows of such a table have one key.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumns(Vec<KeyColumn>);

impl KeyColumns {
    /// The columns of a table's identity; none if it has no identity, or one that only servers can compare.
    pub(crate) fn from_table(table: &Table) -> Self {
        let column = |position: &usize| {
            let column = table.columns.get(*position)?;
            let order = Order::from_column(column)?;
            let name = quote::identifier(&column.name);
            let text = [&column.charset, &column.collation].map(|name| name.clone().unwrap_or_default());
            Some(KeyColumn { position: *position, name, order, unsigned: is_unsigned(column), text })
        };
        let identity = table.identity.as_ref().filter(|identity| identity.comparable);
        let columns = identity.and_then(|identity| identity.columns.iter().map(column).collect());
        Self(columns.unwrap_or_default())
    }

    /// Whether the table has no key that this program can compare.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The columns in the order of the index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &KeyColumn> {
        self.0.iter()
    }

    /// The columns as a list for a statement.
    #[must_use]
    pub(crate) fn list(&self) -> String {
        self.0.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// A key from the texts of its parts; `None` if a text is not a value of its column.
    pub(crate) fn parse<'t>(&self, texts: impl IntoIterator<Item = &'t [u8]>) -> Option<Key> {
        let mut texts = texts.into_iter();
        let parts: Option<Vec<_>> = self.0.iter().map(|column| part(column.order, texts.next()?)).collect();
        parts.filter(|_| texts.next().is_none()).map(Key)
    }

    /// The key of a row as a server sends it. `positions` says where in `fields` the columns of the identity are.
    pub(crate) fn of_fields(&self, fields: &[Option<&[u8]>], positions: &[usize]) -> Option<Key> {
        let texts: Option<Vec<&[u8]>> = positions.iter().map(|at| fields.get(*at).copied().flatten()).collect();
        self.parse(texts?)
    }

    /// The key of a row from the binary log; `None` if the image lacks a column of the key.
    pub(crate) fn of_image(&self, row: &[Option<Value<'_>>]) -> Option<Key> {
        let part_of = |column: &KeyColumn| {
            let value = row.get(column.position)?.as_ref()?;
            part(column.order, &value::text(value, column.unsigned)?)
        };
        self.0.iter().map(part_of).collect::<Option<Vec<_>>>().map(Key)
    }

    /// The texts of a key of which only servers know the order, each with its column.
    pub(crate) fn texts_to_sort<'k>(&'k self, key: &'k Key) -> impl Iterator<Item = (&'k KeyColumn, &'k [u8])> {
        let parts = self.0.iter().zip(&key.0).filter(|(column, _)| column.has_sort_keys());
        parts.map(|(column, part)| (column, part.text.as_slice()))
    }

    /// Whether keys need sort keys of a server.
    pub(crate) fn have_sort_keys(&self) -> bool {
        self.0.iter().any(KeyColumn::has_sort_keys)
    }

    /// Sets the order of a key, by the sort key and the padding of each of its [texts](Self::texts_to_sort).
    pub(crate) fn sort(&self, key: &mut Key, sort_key: impl Fn(&KeyColumn, &[u8]) -> (Vec<u8>, Vec<u8>)) {
        let parts = self.0.iter().zip(&mut key.0).filter(|(column, _)| column.has_sort_keys());
        for (column, part) in parts {
            let (sorted, padding) = sort_key(column, &part.text);
            part.sort_by(sorted, Cow::Owned(padding));
        }
    }

    /// The condition for rows after `after` and up to `upto`.
    #[must_use]
    pub(crate) fn range(&self, after: Option<&Key>, upto: Option<&Key>) -> String {
        let after = after.map(|key| self.compared(key, ">", false));
        let upto = upto.map(|key| self.compared(key, "<", true));
        let both: Vec<_> = after.into_iter().chain(upto).collect();
        if both.is_empty() { "TRUE".to_owned() } else { both.join(" AND ") }
    }

    /// The condition for the row with this key.
    #[must_use]
    pub(crate) fn equals(&self, key: &Key) -> String {
        let equals =
            self.0.iter().zip(&key.0).map(|(column, part)| format!("{} = {}", column.name, column.literal(part)));
        equals.collect::<Vec<_>>().join(" AND ")
    }

    /// The key as a list of literals, for messages.
    #[must_use]
    pub(crate) fn literals(&self, key: &Key) -> String {
        self.0.iter().zip(&key.0).map(|(column, part)| column.shown(part)).collect::<Vec<_>>().join(", ")
    }

    /// `(a > 1) OR (a = 1 AND b > 2)`: servers use an index for this form, but not for `(a, b) > (1, 2)`.
    fn compared(&self, key: &Key, operator: &str, or_equal: bool) -> String {
        let mut equal = Vec::new();
        let mut cases = Vec::new();
        for (column, part) in self.0.iter().zip(&key.0) {
            let literal = column.literal(part);
            let mut case = equal.clone();
            case.push(format!("{} {operator} {literal}", column.name));
            cases.push(case.join(" AND "));
            equal.push(format!("{} = {literal}", column.name));
        }
        if or_equal {
            cases.push(equal.join(" AND "));
        }
        format!("(({}))", cases.join(") OR ("))
    }
}

impl KeyColumn {
    /// Whether only servers know the order of its values.
    const fn has_sort_keys(&self) -> bool {
        matches!(self.order, Order::SortKey { .. })
    }

    /// Whether trailing spaces of its texts do not count.
    pub(crate) const fn pads(&self) -> bool {
        matches!(self.order, Order::Text { pads: true } | Order::SortKey { pads: true })
    }

    /// Collation of its texts.
    pub(crate) fn collation(&self) -> &str {
        let [_, collation] = &self.text;
        collation
    }

    /// A text in its character set.
    pub(crate) fn text_literal(&self, text: &[u8]) -> String {
        let [charset, _] = &self.text;
        format!("_{charset} {}", literal::hexadecimal(text))
    }

    /// Like [`Self::literal`], but a text that can be printed is shown as it is.
    fn shown(&self, part: &Part) -> String {
        let [charset, _] = &self.text;
        let is_printed =
            |text: &&str| (charset.starts_with("utf8") || text.is_ascii()) && !text.contains(char::is_control);
        let text = str::from_utf8(&part.text).ok().filter(|_| !charset.is_empty()).filter(is_printed);
        text.map_or_else(|| self.literal(part), quote::text)
    }

    fn literal(&self, part: &Part) -> String {
        let text = String::from_utf8_lossy(&part.text);
        match self.order {
            Order::Integer | Order::Decimal => text.into_owned(),
            Order::Time | Order::Moment => format!("'{text}'"),
            Order::Bytes { .. } => literal::hexadecimal(&part.text),
            Order::Bits => format!("{}+0", literal::hexadecimal(&part.text)),
            // A literal of another character set would be compared without the index.
            Order::Text { .. } | Order::SortKey { .. } => self.text_literal(&part.text),
        }
    }
}

fn part(order: Order, text: &[u8]) -> Option<Part> {
    let mut text = text.to_vec();
    let sorted = match order {
        Order::Integer => integer(&text)?,
        Order::Decimal => decimal(&text)?,
        Order::Time => time(&text)?,
        Order::Moment => text.iter().all(is_of_moment).then(|| text.clone())?,
        Order::Bits => number(&text)?.to_be_bytes().to_vec(),
        Order::Bytes { length } => {
            // The log omits trailing zero bytes of a BINARY.
            text.resize(text.len().max(length), 0);
            text.clone()
        }
        Order::Text { .. } | Order::SortKey { .. } => text.clone(),
    };
    let padding: &'static [u8] = if order == (Order::Text { pads: true }) { b" " } else { b"" };
    let mut part = Part { sorted: Vec::new(), padding: Cow::default(), text };
    part.sort_by(sorted, Cow::Borrowed(padding));
    Some(part)
}

fn is_of_moment(byte: &u8) -> bool {
    byte.is_ascii_digit() || b"-: .".contains(byte)
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.iter().try_fold(0_u64, |number, byte| Some(number.checked_mul(256)? | u64::from(*byte)))
}

fn integer(text: &[u8]) -> Option<Vec<u8>> {
    let number: i128 = str::from_utf8(text).ok()?.parse().ok()?;
    // With the sign bit inverted, negative numbers come first.
    Some((number.cast_unsigned() ^ (1 << 127)).to_be_bytes().to_vec())
}

/// A sign, then as many digits as any DECIMAL can have. The digits of a negative number are inverted.
fn decimal(text: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(text).ok()?;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{whole:0>WHOLE_DIGITS$}{fraction:0<FRACTION_DIGITS$}").into_bytes();
    let below_zero = negative && digits.iter().any(|digit| *digit != b'0');
    let mut sorted = vec![u8::from(!below_zero)];
    sorted.extend(digits.iter().map(|digit| if below_zero { !digit } else { *digit }));
    Some(sorted)
}

/// Microseconds, ordered like an integer.
fn time(text: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(text).ok()?;
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let mut seconds = 0_i128;
    for field in whole.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(field.parse::<u16>().ok()?.into())?;
    }
    let fraction: i128 = format!("{fraction:0<6}").parse().ok()?;
    let microseconds = seconds.checked_mul(1_000_000)?.checked_add(fraction)?;
    integer(if negative { microseconds.checked_neg()? } else { microseconds }.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(order: Order, texts: &[&str]) {
        let parts: Vec<_> = texts.iter().map(|text| part(order, text.as_bytes()).unwrap()).collect();
        assert!(parts.windows(2).all(|pair| pair[0].compare(&pair[1]).is_lt()), "{texts:?}: {parts:?}");
    }

    #[test]
    fn values_sort_like_the_server_sorts_them() {
        sorted(Order::Integer, &["-9223372036854775808", "-10", "-9", "0", "9", "10", "18446744073709551615"]);
        sorted(Order::Decimal, &["-100.5", "-100.25", "-9.99", "-0.01", "0.00", "0.01", "0.10", "9.00", "10.00"]);
        sorted(Order::Time, &["-838:59:59", "-00:00:01.5", "-00:00:00.5", "00:00:00", "100:00:00", "838:59:59"]);
        sorted(Order::Moment, &["0000-00-00", "0999-01-01", "2024-02-29", "2024-12-01"]);
        sorted(Order::Bits, &["\0\x01", "\0\x7f", "\x01\0"]);
        sorted(Order::Bytes { length: 0 }, &["", "\0", "\0\0", "a", "aa", "b"]);
        sorted(Order::Text { pads: false }, &["", "\t", " ", "a", "a\t", "a ", "a a", "b"]);
        // As if spaces followed.
        sorted(Order::Text { pads: true }, &["\t", "", "a\t", "a \t", "a", "a  a", "a a", "aa", "b"]);
    }

    #[test]
    fn trailing_spaces_count_only_without_padding() {
        let of = |pads, text: &[u8]| Key(vec![part(Order::Text { pads }, text).unwrap()]);
        assert_eq!(of(true, b"a"), of(true, b"a  "));
        assert_ne!(of(false, b"a"), of(false, b"a  "));
        let hashes: std::collections::HashSet<Key> = [of(true, b"a"), of(true, b"a ")].into();
        assert_eq!(hashes.len(), 1);
        assert_eq!(of(true, b"a ").texts().collect::<Vec<_>>(), [b"a "], "the value is kept as it is");
    }

    fn text_column(order: Order) -> KeyColumns {
        let text = ["utf8mb4", "utf8mb4_general_ci"].map(str::to_owned);
        KeyColumns(vec![KeyColumn { position: 0, name: "`w`".to_owned(), order, unsigned: false, text }])
    }

    #[test]
    fn a_text_is_compared_in_its_own_character_set() {
        let columns = text_column(Order::Text { pads: true });
        let key = columns.parse([&b"a'"[..]]).unwrap();
        assert_eq!(columns.equals(&key), "`w` = _utf8mb4 x'6127'");
        let shown = |text: &str| columns.literals(&columns.parse([text.as_bytes()]).unwrap());
        assert_eq!([shown("é"), shown("a\t")], ["'é'", "_utf8mb4 x'6109'"]);
    }

    #[test]
    fn sort_keys_decide_the_order_and_keep_the_text() {
        let columns = text_column(Order::SortKey { pads: true });
        let key = |text: &str| {
            let mut key = columns.parse([text.as_bytes()]).unwrap();
            // Two bytes a character, as in utf8mb4_general_ci.
            let sort_key = |text: &[u8]| text.iter().flat_map(|byte| [0, byte.to_ascii_uppercase()]).collect();
            columns.sort(&mut key, |_, text| (sort_key(text), sort_key(b" ")));
            key
        };
        assert!(key("a ") == key("A") && key("a") < key("B") && key("b") > key("A"));
        assert!(key("a\t") < key("A") && key("a b") > key("A  "));
        assert_eq!(key("a ").texts().collect::<Vec<_>>(), [b"a "]);
    }

    #[test]
    fn a_binary_key_of_the_log_is_the_one_of_the_table() {
        let order = Order::Bytes { length: 4 };
        assert_eq!(part(order, b"ab").unwrap().sorted, part(order, b"ab\0\0").unwrap().sorted);
    }

    #[test]
    fn what_is_no_value_is_no_key() {
        for (order, text) in [
            (Order::Integer, "1;"),
            (Order::Decimal, "1.x"),
            (Order::Time, "a"),
            (Order::Moment, "2024-01-01' OR 1"),
            (Order::Bits, "123456789"),
        ] {
            assert!(part(order, text.as_bytes()).is_none(), "{text}");
        }
    }
}
