//! Position of a copy in the cluster's history.

use std::fmt;

/// `UUID:SEQNO` and, in MariaDB, a domain id. It is validated because it is passed on in the
/// server's protocol unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GaleraState {
    /// `UUID:SEQNO` as text.
    state: String,
    domain: Option<u32>,
}

const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

impl GaleraState {
    /// Parses `UUID:SEQNO` or `UUID:SEQNO DOMAIN`; `None` if the text has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut message = text.split_ascii_whitespace();
        let state = message.next()?;
        let domain = message.next().map(str::parse).transpose().ok()?;
        let (uuid, seqno) = state.split_once(':')?;
        let groups =
            uuid.split('-').map(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(group.len()));
        let sound = groups.eq(UUID_GROUPS.map(Some)) && seqno.parse::<i64>().is_ok_and(|number| number >= -1);
        (sound && message.next().is_none()).then(|| Self { state: state.to_owned(), domain })
    }

    /// Sets the domain id.
    #[must_use]
    pub fn with_domain(self, domain: Option<u32>) -> Self {
        Self { domain: domain.or(self.domain), ..self }
    }
}

impl fmt::Display for GaleraState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.state)?;
        self.domain.map_or(Ok(()), |domain| write!(f, " {domain}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_no_positions() {
        const UUID: &str = "1b2f8a4e-c0de-11f0-9c2d-0242ac120002";
        for good in [format!("{UUID}:514"), format!("{UUID}:-1 0"), format!("{UUID}:9223372036854775807 4294967295")] {
            assert_eq!(GaleraState::parse(&format!(" {good}\n")).unwrap().to_string(), good);
        }
        let bad = [
            String::new(),
            UUID.to_owned(),
            format!("{UUID}:"),
            format!("{UUID}:5 x"),
            format!("{UUID}:5 0 0"),
            format!("{UUID}:-2"),
            format!("{UUID}x:5"),
            format!("done {UUID}:5"),
            format!("{}:5", UUID.replace('-', "")),
        ];
        for bad in bad {
            assert_eq!(GaleraState::parse(&bad), None, "{bad}");
        }
    }
}
