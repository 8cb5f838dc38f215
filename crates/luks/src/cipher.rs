//! Parses cipher specifications of dm-crypt, such as `aes-xts-plain64` and `capi:xts(aes)-plain64`.
//!
//! Source: `Documentation/admin-guide/device-mapper/dm-crypt.rst` of Linux. For compatibility, missing parts mean
//! `cbc-plain`.

/// A cipher specification, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cipher {
    /// The block cipher: `aes`, `serpent`, `xchacha12,aes`.
    algorithm: String,
    /// `xts`, `cbc`, …; empty for an algorithm that is a complete mode by itself.
    mode: String,
    /// How the IV of a sector is derived: `plain64`, `essiv`, `random`, …; empty if the cipher has no IV.
    iv: String,
    /// Bytes of the authentication key that the specification itself requires.
    mac_key_bytes: u32,
}

/// An LRW key ends with a tweak key of one block.
const LRW_TWEAK_BYTES: u32 = 16;

impl Cipher {
    pub(crate) fn parse(specification: &str) -> Self {
        let lower = specification.trim().to_ascii_lowercase();
        match lower.strip_prefix("capi:") {
            Some(template) => Self::from_template(template),
            None => Self::from_parts(&lower),
        }
    }

    /// `cipher[:keys]-mode-iv[:options]`.
    fn from_parts(text: &str) -> Self {
        let (cipher, rest) = text.split_once('-').unwrap_or((text, ""));
        let algorithm = cipher.split(':').next().unwrap_or_default().to_owned();
        let (mode, iv) = match rest.split_once('-') {
            Some((mode, iv)) => (mode, iv),
            None if rest.is_empty() || rest == "plain" => ("cbc", "plain"),
            None => (rest, ""),
        };
        Self { algorithm, mode: mode.to_owned(), iv: iv_name(iv), mac_key_bytes: 0 }
    }

    /// `mode(algorithm)-iv`, and templates around it.
    fn from_template(text: &str) -> Self {
        let (template, iv) = match text.rfind(')') {
            Some(end) => text.split_at(end.saturating_add(1)),
            None => text.split_at(text.rfind('-').unwrap_or(text.len())),
        };
        let mut parsed = Self {
            algorithm: String::new(),
            mode: String::new(),
            iv: iv_name(iv.trim_start_matches('-')),
            mac_key_bytes: 0,
        };
        parsed.unwrap(template);
        parsed
    }

    /// Descends into the template until only the algorithm is left. The outermost mode decides: `xts(ecb(aes))` is XTS.
    fn unwrap(&mut self, template: &str) {
        let mut inner = template;
        while let Some((name, arguments)) = inner.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            match name {
                // essiv(cbc(aes),sha256): the hash comes last.
                "essiv" => {
                    "essiv".clone_into(&mut self.iv);
                    inner = arguments.rsplit_once(',').map_or(arguments, |(cipher, _)| cipher);
                }
                // authenc(hmac(sha256),cbc(aes)): the MAC comes first.
                "authenc" => {
                    let (mac, cipher) = arguments.split_once("),").unwrap_or(("", arguments));
                    self.mac_key_bytes = mac_key_bytes(&format!("{mac})"));
                    inner = cipher;
                }
                mode => {
                    if self.mode.is_empty() {
                        mode.clone_into(&mut self.mode);
                    }
                    inner = arguments;
                }
            }
        }
        inner.clone_into(&mut self.algorithm);
    }

    /// Whether the cipher leaves the data unencrypted.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.algorithm.as_str(), "cipher_null" | "null")
    }

    /// Whether the algorithm is AES alone; also with a protected key (`paes`) or under a driver's name.
    pub(crate) fn is_aes(&self) -> bool {
        matches!(self.algorithm.as_str(), "aes" | "paes") || self.algorithm.starts_with("aes-")
    }

    pub(crate) fn is_mode(&self, mode: &str) -> bool {
        self.mode == mode
    }

    pub(crate) fn mode(&self) -> &str {
        &self.mode
    }

    pub(crate) fn iv(&self) -> &str {
        &self.iv
    }

    /// Algorithm, for display.
    pub(crate) fn algorithm(&self) -> &str {
        &self.algorithm
    }

    /// Key bits that protect the data. XTS has two keys of the same strength. The key of a MAC and the tweak key of LRW
    /// add none.
    pub(crate) fn effective_key_bits(&self, key_bytes: u32, mac_key_bytes: u32) -> u32 {
        let current = key_bytes.saturating_sub(mac_key_bytes.max(self.mac_key_bytes));
        let bytes = match self.mode.as_str() {
            "xts" => current / 2,
            "lrw" => current.saturating_sub(LRW_TWEAK_BYTES),
            _ => current,
        };
        bytes.saturating_mul(8)
    }
}

/// Bytes of the key of a MAC. Source: `INTEGRITY_key_size` of cryptsetup: the key is as long as the MAC.
pub(crate) fn mac_key_bytes(integrity: &str) -> u32 {
    let hash = integrity.strip_prefix("hmac(").or_else(|| integrity.strip_prefix("phmac("));
    match hash.map(|hash| hash.trim_end_matches(')')) {
        Some("sha1") => 20,
        Some("sha224") => 28,
        Some("sha256") => 32,
        Some("sha384") => 48,
        Some("sha512") => 64,
        _ => 0,
    }
}

fn iv_name(iv: &str) -> String {
    iv.split(':').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(specification: &str) -> (String, String, String) {
        let Cipher { algorithm, mode, iv, .. } = Cipher::parse(specification);
        (algorithm, mode, iv)
    }

    #[test]
    fn both_notations_are_parsed() {
        let rows = [
            ("aes-xts-plain64", "aes", "xts", "plain64"),
            ("aes-cbc-essiv:sha256", "aes", "cbc", "essiv"),
            ("aes", "aes", "cbc", "plain"),
            ("aes-plain", "aes", "cbc", "plain"),
            ("aes-ecb", "aes", "ecb", ""),
            ("aes:64-cbc-lmk", "aes", "cbc", "lmk"),
            ("AES-XTS-PLAIN64", "aes", "xts", "plain64"),
            ("xchacha12,aes-adiantum-plain64", "xchacha12,aes", "adiantum", "plain64"),
            ("aegis128-random", "aegis128", "random", ""),
            ("capi:xts(aes)-plain64", "aes", "xts", "plain64"),
            ("capi:cbc(aes)-essiv:sha256", "aes", "cbc", "essiv"),
            ("capi:essiv(cbc(aes),sha256)-plain64", "aes", "cbc", "essiv"),
            ("capi:authenc(hmac(sha256),xts(aes))-random", "aes", "xts", "random"),
            ("capi:xts(ecb(aes-generic))-plain64", "aes-generic", "xts", "plain64"),
            ("capi:rfc7539(chacha20,poly1305)-random", "chacha20,poly1305", "rfc7539", "random"),
            ("capi:adiantum(xchacha20,aes)-plain64", "xchacha20,aes", "adiantum", "plain64"),
            ("capi:ecb(cipher_null)-plain", "cipher_null", "ecb", "plain"),
        ];
        for (specification, algorithm, mode, iv) in rows {
            // ESSIV as a template overrides the IV after it, which only numbers the sectors.
            let wanted = (algorithm.to_owned(), mode.to_owned(), iv.to_owned());
            assert_eq!(parts(specification), wanted, "{specification}");
        }
    }

    #[test]
    fn effective_key_bits_depend_on_mode_and_mac() {
        let rows = [
            ("aes-xts-plain64", 64, 0, 256),
            ("aes-xts-plain64", 64, 32, 128),
            ("aes-cbc-plain", 16, 0, 128),
            ("aes-lrw-benbi", 32, 0, 128),
            ("capi:authenc(hmac(sha256),xts(aes))-random", 64, 0, 128),
            ("aegis128-random", 16, 0, 128),
        ];
        for (specification, bytes, mac, bits) in rows {
            assert_eq!(Cipher::parse(specification).effective_key_bits(bytes, mac), bits, "{specification}");
        }
    }

    #[test]
    fn parsing_of_malformed_specifications_terminates() {
        for text in ["", "-", "capi:", "capi:(((((", "capi:)", "a-b-c-d", "capi:x(", ":::", "capi:essiv(,)-"] {
            let _ = Cipher::parse(text);
        }
    }
}
