//! `wsrep_provider_options` of Galera.
//!
//! Source: `gu::Config::parse` in Galera's `galerautils/src/gu_config.cpp`. Keys are compared byte by byte, and the
//! last of two values of one key counts.

/// Options of the provider in their order: `a = b; c = d`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderOptions<'o> {
    pairs: Vec<(&'o str, &'o str)>,
}

impl<'o> ProviderOptions<'o> {
    /// Parses the variable's or the option's value. Parts without `=` are ignored.
    #[must_use]
    pub fn parse(text: &'o str) -> Self {
        let pairs = text.split(';').filter_map(|part| part.split_once('='));
        Self { pairs: pairs.map(|(key, value)| (key.trim(), value.trim())).collect() }
    }

    /// The effective value of a key: the last one. It may be empty.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'o str> {
        self.pairs.iter().rev().find(|(set, _)| *set == key).map(|(_, value)| *value)
    }

    /// All keys and values in their order, including values that a later one overrides.
    pub fn iter(&self) -> impl Iterator<Item = (&'o str, &'o str)> {
        self.pairs.iter().copied()
    }

    /// Whether there are no options.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The options as text, with new values for the keys in `renewed`; a key without a new value is removed. The other
    /// options stay unchanged and in order; new values follow them.
    #[must_use]
    pub fn with(&self, renewed: &[(&str, Option<&str>)]) -> String {
        let stays = |(key, _): &(&str, &str)| !renewed.iter().any(|(other, _)| key == other);
        let wanted = renewed.iter().filter_map(|(key, value)| Some((*key, (*value)?)));
        let all: Vec<String> =
            self.iter().filter(stays).chain(wanted).map(|(key, value)| format!("{key}={value}")).collect();
        all.join(";")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_counts() {
        let options = ProviderOptions::parse("gcache.dir=/a; gcache.dir = /b ;GCACHE.DIR=/c;; gcache.name=");
        assert_eq!(options.get("gcache.dir"), Some("/b"));
        assert_eq!(options.get("gcache.name"), Some(""));
        assert_eq!(options.get("gcache.size"), None);
    }

    #[test]
    fn options_stay_when_others_are_set() {
        let set = ProviderOptions::parse("gcache.size = 8M; socket.ssl=no;; base_dir=/a b;socket.dynamic=true");
        let renewed = [("socket.ssl", Some("yes")), ("socket.dynamic", None), ("socket.ssl_ca", Some("/ca.pem"))];
        assert_eq!(set.with(&renewed), "gcache.size=8M;base_dir=/a b;socket.ssl=yes;socket.ssl_ca=/ca.pem");
        assert_eq!(ProviderOptions::default().with(&[("socket.ssl", Some("yes"))]), "socket.ssl=yes");
    }
}
