//! The header: a version, a stanza for each recipient, a MAC.
//!
//! ```text
//! age-encryption.org/v1
//! -> X25519 SVrzdFfkPxf0LPHOUGB1gNb9E5Vr8EUDa9kxk04iQ0o
//! 0OrTkKHpE7klNLd0k+9Uam5hkQkzMxaqKcIPRIO1sNE
//! --- gxhoSa5BciRDt8lOpYNcx4EYtKpS0CJ06F3ZwN82VaM
//! ```

use std::io::{BufRead, Read};

use data_encoding::BASE64_NOPAD;

use crate::{
    error::{Error, HeaderFault},
    file_key::{FileKey, MAC_BYTES},
    identity::Identity,
    limits::{MAX_HEADER_BYTES, MAX_LINE_BYTES, MAX_RECIPIENTS},
    recipient::Recipient,
    x25519::{self, Stanza},
};

/// First bytes of every age file that is not armored.
pub const FORMAT: &[u8] = b"age-encryption.org/";
const VERSION: &[u8] = b"age-encryption.org/v1\n";
/// First bytes of an age file in text form.
pub const ARMOR: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
const STANZA: &[u8] = b"-> ";
const MAC: &[u8] = b"---";
/// Type of a passphrase recipient.
const SCRYPT: &[u8] = b"scrypt";
/// Columns of a body's lines; the last line is shorter.
const COLUMNS: usize = 64;

/// A parsed header, not yet authenticated.
pub(crate) struct Header {
    /// Stanzas of X25519 recipients, each with its line number.
    stanzas: Vec<(u64, Stanza)>,
    /// Input of the MAC: everything up to and including `---`.
    covered: Vec<u8>,
    mac: [u8; MAC_BYTES],
}

impl Header {
    /// Reads the header, and no byte after it.
    pub(crate) fn read(input: &mut impl BufRead) -> Result<Self, Error> {
        let mut lines = Lines { input, bytes: Vec::new(), line: 0 };
        lines.version()?;
        let (mut stanzas, mut count, mut passphrase) = (Vec::new(), 0_usize, None);
        loop {
            let line = lines.next(MAX_LINE_BYTES)?;
            let Some(arguments) = line.strip_prefix(STANZA) else {
                let mac = mac(line).map_err(|fault| lines.at(fault))?;
                return match (count, passphrase) {
                    (0, _) => Err(lines.at(HeaderFault::NoStanza)),
                    (2.., Some(line)) => Err(Error::Header { line, fault: HeaderFault::Passphrase }),
                    _ => Ok(Self { stanzas, covered: lines.covered(), mac }),
                };
            };
            let arguments = Arguments::parse(arguments).map_err(|fault| lines.at(fault))?;
            count = count.saturating_add(1);
            if count > MAX_RECIPIENTS {
                return Err(lines.at(HeaderFault::TooManyStanzas));
            }
            let line = lines.line;
            if matches!(arguments, Arguments::Scrypt) {
                passphrase = Some(line);
            }
            let body = lines.body()?;
            if let Arguments::X25519(share) = arguments {
                let body = body.try_into().map_err(|_| lines.at(HeaderFault::X25519Body))?;
                stanzas.push((line, Stanza { share, body }));
            }
        }
    }

    /// The file key, if an identity opens a stanza and the MAC matches.
    pub(crate) fn open(&self, identities: &[Identity]) -> Result<FileKey, Error> {
        for identity in identities {
            for (line, stanza) in &self.stanzas {
                let key = stanza.unwrap(identity).map_err(|fault| Error::Header { line: *line, fault })?;
                if let Some(key) = key {
                    key.verify_header(&self.covered, &self.mac)?;
                    return Ok(key);
                }
            }
        }
        Err(Error::NoMatch)
    }
}

/// Writes the header of a file with this key.
pub(crate) fn write(file_key: &FileKey, recipients: &[Recipient]) -> Result<Vec<u8>, Error> {
    match recipients.len() {
        0 => return Err(Error::NoRecipient),
        count if count > MAX_RECIPIENTS => return Err(Error::TooManyRecipients { count }),
        _ => {}
    }
    let mut header = VERSION.to_vec();
    for recipient in recipients {
        let Stanza { share, body } = Stanza::wrap(file_key, recipient)?;
        let [share, body] = [share, body].map(|bytes| BASE64_NOPAD.encode(&bytes));
        // 43 columns: the body is one line, shorter than 64 columns.
        header.extend_from_slice(format!("-> {} {share}\n{body}\n", x25519::TYPE).as_bytes());
    }
    header.extend_from_slice(MAC);
    let mac = BASE64_NOPAD.encode(file_key.header_mac(&header)?.as_ref());
    header.extend_from_slice(format!(" {mac}\n").as_bytes());
    Ok(header)
}

/// Parsed arguments of a stanza.
enum Arguments {
    X25519([u8; 32]),
    Scrypt,
    /// A type that is not supported here: another kind of recipient, or one that only tests that readers skip unknown
    /// types.
    Unknown,
}

impl Arguments {
    fn parse(text: &[u8]) -> Result<Self, HeaderFault> {
        let mut arguments = text.split(|byte| *byte == b' ');
        if arguments.clone().any(|argument| argument.is_empty() || !argument.iter().all(u8::is_ascii_graphic)) {
            return Err(HeaderFault::Argument);
        }
        let kind = arguments.next().unwrap_or_default();
        if kind == SCRYPT {
            return Ok(Self::Scrypt);
        }
        if kind != x25519::TYPE.as_bytes() {
            return Ok(Self::Unknown);
        }
        let (Some(share), None) = (arguments.next(), arguments.next()) else {
            return Err(HeaderFault::X25519Arguments);
        };
        decode(share).map(Self::X25519).ok_or(HeaderFault::X25519Share)
    }
}

/// Parses a line that begins with `--- `.
fn mac(line: &[u8]) -> Result<[u8; MAC_BYTES], HeaderFault> {
    let rest = line.strip_prefix(MAC).ok_or(HeaderFault::Start)?;
    rest.strip_prefix(b" ").and_then(decode).ok_or(HeaderFault::Mac)
}

/// Decodes 32 bytes of canonical base64: no padding, unused bits zero.
fn decode(text: &[u8]) -> Option<[u8; 32]> {
    BASE64_NOPAD.decode(text).ok()?.try_into().ok()
}

/// Reads lines and keeps them all.
struct Lines<'r, R> {
    input: &'r mut R,
    bytes: Vec<u8>,
    line: u64,
}

impl<R: BufRead> Lines<'_, R> {
    /// The next line, without its line feed.
    fn next(&mut self, limit: usize) -> Result<&[u8], Error> {
        let begin = self.bytes.len();
        self.line = self.line.saturating_add(1);
        // The limit, the line feed, and a byte that shows that the line is too long.
        let room = u64::try_from(limit.saturating_add(1)).unwrap_or(u64::MAX);
        let read = self.input.by_ref().take(room).read_until(b'\n', &mut self.bytes).map_err(Error::Read)?;
        if self.bytes.len() > MAX_HEADER_BYTES {
            return Err(self.at(HeaderFault::Long));
        }
        match self.bytes.get(begin..).and_then(|line| line.strip_suffix(b"\n")) {
            Some(line) => Ok(line),
            None if read > limit => Err(Error::Header { line: self.line, fault: HeaderFault::LongLine }),
            None => Err(Error::Header { line: self.line, fault: HeaderFault::Truncated }),
        }
    }

    fn version(&mut self) -> Result<(), Error> {
        // A missing or too long line is not an error yet: the first bytes may show another kind of file.
        if let Err(error @ Error::Read(_)) = self.next(COLUMNS) {
            return Err(error);
        }
        match self.bytes.as_slice() {
            VERSION => Ok(()),
            other if other.starts_with(ARMOR) => Err(Error::Armored),
            cut if VERSION.starts_with(cut) && cut.len() >= FORMAT.len() => Err(self.at(HeaderFault::Truncated)),
            other if other.starts_with(FORMAT) => Err(Error::Version),
            _ => Err(Error::NotAge),
        }
    }

    /// The body of a stanza.
    fn body(&mut self) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        loop {
            let line = match self.next(COLUMNS) {
                Ok(line) => line,
                Err(Error::Header { line, fault: HeaderFault::LongLine }) => {
                    return Err(Error::Header { line, fault: HeaderFault::Body });
                }
                Err(error) => return Err(error),
            };
            let columns = line.len();
            let Ok(bytes) = BASE64_NOPAD.decode(line) else { return Err(self.at(HeaderFault::Body)) };
            body.extend(bytes);
            if columns < COLUMNS {
                return Ok(body);
            }
        }
    }

    /// Everything read, up to and including the `---` of the last line.
    fn covered(mut self) -> Vec<u8> {
        let last = self.bytes.strip_suffix(b"\n").unwrap_or_default();
        let begin = last.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
        self.bytes.truncate(begin.saturating_add(MAC.len()));
        self.bytes
    }

    fn at(&self, fault: HeaderFault) -> Error {
        Error::Header { line: self.line, fault }
    }
}
