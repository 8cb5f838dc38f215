//! Unpacks a backup layer by layer, within a byte limit: gzip, zstd, LZ4, tar and xbstream.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use files::ReadAt;

/// Byte limit for one file, over all layers: reading stops when it is used up.
#[derive(Debug, Clone)]
pub(super) struct Budget(Rc<Cell<u64>>);

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Rc::new(Cell::new(bytes)))
    }

    /// Takes up to `wanted` bytes; 0 when the limit is used up.
    fn take(&self, wanted: usize) -> usize {
        let left = self.0.get();
        let granted = u64::try_from(wanted).unwrap_or(u64::MAX).min(left);
        self.0.set(left.saturating_sub(granted));
        usize::try_from(granted).unwrap_or(0)
    }
}

/// A sequential stream that can skip bytes.
pub(super) trait Stream: Read {
    /// Skips `count` bytes.
    fn skip(&mut self, count: u64) -> io::Result<()>;
}

/// The bytes of the file.
pub(super) struct Raw<'a> {
    source: &'a dyn ReadAt,
    at: u64,
    budget: Budget,
}

impl<'a> Raw<'a> {
    pub(super) fn new(source: &'a dyn ReadAt, budget: &Budget) -> Self {
        Self { source, at: 0, budget: budget.clone() }
    }
}

impl Read for Raw<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let allowed = self.budget.take(buf.len());
        let Some(buf) = buf.get_mut(..allowed).filter(|buf| !buf.is_empty()) else { return Ok(0) };
        let count = self.source.read_at(self.at, buf)?;
        self.at = self.at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

impl Stream for Raw<'_> {
    fn skip(&mut self, count: u64) -> io::Result<()> {
        self.at = self.at.saturating_add(count);
        Ok(())
    }
}

/// Output of a decoder; skipping costs as much as reading.
pub(super) struct Decoded<R> {
    inner: R,
    budget: Budget,
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let allowed = self.budget.take(buf.len());
        match buf.get_mut(..allowed).filter(|buf| !buf.is_empty()) {
            Some(buf) => self.inner.read(buf),
            None => Ok(0),
        }
    }
}

impl<R: Read> Stream for Decoded<R> {
    fn skip(&mut self, count: u64) -> io::Result<()> {
        let passed = io::copy(&mut self.by_ref().take(count), &mut io::sink())?;
        if passed < count { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

/// A stream whose start was already read.
pub(super) struct Prefixed<'a> {
    head: io::Cursor<Vec<u8>>,
    rest: Box<dyn Stream + 'a>,
}

impl<'a> Prefixed<'a> {
    /// Reads up to `bytes` ahead; fewer at the end of the stream or of the limit.
    pub(super) fn look(mut rest: Box<dyn Stream + 'a>, bytes: u64) -> Self {
        let mut head = Vec::new();
        // A damaged stream ends here: the data before the damage still counts.
        let _ = rest.by_ref().take(bytes).read_to_end(&mut head);
        Self { head: io::Cursor::new(head), rest }
    }

    pub(super) fn head(&self) -> &[u8] {
        self.head.get_ref()
    }
}

impl Read for Prefixed<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buf)? {
            0 => self.rest.read(buf),
            count => Ok(count),
        }
    }
}

impl Stream for Prefixed<'_> {
    fn skip(&mut self, count: u64) -> io::Result<()> {
        let length = u64::try_from(self.head.get_ref().len()).unwrap_or(u64::MAX);
        let ahead = length.saturating_sub(self.head.position()).min(count);
        self.head.set_position(self.head.position().saturating_add(ahead));
        self.rest.skip(count.saturating_sub(ahead))
    }
}

/// Decompresses a stream by the name of its format, if supported.
pub(super) fn decoded<'a>(layer: &str, stream: Prefixed<'a>, budget: &Budget) -> Option<Box<dyn Stream + 'a>> {
    let budget = budget.clone();
    Some(match layer {
        "gzip" => Box::new(Decoded { inner: flate2::read::MultiGzDecoder::new(stream), budget }),
        "lz4" => Box::new(Decoded { inner: lz4_flex::frame::FrameDecoder::new(stream), budget }),
        "zstd" => {
            let mut inner = zstd::stream::read::Decoder::new(stream).ok()?;
            // `zstd --ultra` without `--long` needs a window of 2^27 bytes.
            inner.window_log_max(27).ok()?;
            Box::new(Decoded { inner, budget })
        }
        _ => return None,
    })
}

/// A file inside an archive.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) head: Vec<u8>,
    pub(super) size_bytes: u64,
}

/// Calls `visit` for each member of a tar archive, until it returns false or the limit is used up.
///
/// Source: POSIX.1-2008 `pax`, ustar interchange format; GNU's base-256 sizes.
pub(super) fn tar_members(
    mut stream: Prefixed<'_>,
    head_bytes: u64,
    mut visit: impl FnMut(Member) -> bool,
) -> io::Result<()> {
    let mut header = [0; 512];
    let mut long_name = None;
    while stream.read_exact(&mut header).is_ok() {
        if files::all_zero(&header) {
            return Ok(());
        }
        let Some(size_bytes) = tar_number(header.get(124..136).unwrap_or_default()) else { return Ok(()) };
        let kind = header.get(156).copied().unwrap_or_default();
        let mut head = Vec::new();
        stream.by_ref().take(size_bytes.min(head_bytes)).read_to_end(&mut head)?;
        let read = u64::try_from(head.len()).unwrap_or(u64::MAX);
        let padded = size_bytes.checked_next_multiple_of(512).unwrap_or(u64::MAX);
        match kind {
            b'L' => long_name = Some(until_zero(&head)),
            b'0' | 0 | b'7' => {
                let name = long_name.take().unwrap_or_else(|| until_zero(header.get(..100).unwrap_or_default()));
                if !visit(Member { name, head, size_bytes }) {
                    return Ok(());
                }
            }
            _ => {}
        }
        stream.skip(padded.saturating_sub(read))?;
    }
    Ok(())
}

fn until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn tar_number(field: &[u8]) -> Option<u64> {
    if let Some((0x80, rest)) = field.split_first() {
        return rest.iter().try_fold(0_u64, |n, byte| n.checked_mul(256)?.checked_add(u64::from(*byte)));
    }
    let text = std::str::from_utf8(field).ok()?.trim_matches(|c: char| c == '\0' || c == ' ');
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok() }
}

/// Calls `visit` for the first chunk of each file of an xbstream.
///
/// A chunk: `XBSTCK01`, flags, type (`P` payload, `E` end, `S` sparse), length and text of the
/// path (LE4), and for payload its length (LE8), offset (LE8) and CRC-32 (LE4); sparse chunks
/// have a map of LE4 pairs, its count before the length. Source: Percona XtraBackup `xbstream.h`.
pub(super) fn xbstream_members(
    mut stream: Prefixed<'_>,
    head_bytes: u64,
    mut visit: impl FnMut(Member) -> bool,
) -> io::Result<()> {
    const LONGEST_PATH: u32 = 4096;
    let mut seen = std::collections::BTreeSet::new();
    let mut head = [0; 14];
    while stream.read_exact(&mut head).is_ok() && head.starts_with(b"XBSTCK01") {
        let kind = head.get(9).copied().unwrap_or_default();
        let path_bytes = little(head.get(10..14));
        if path_bytes > u64::from(LONGEST_PATH) {
            return Ok(());
        }
        let mut path = Vec::new();
        stream.by_ref().take(path_bytes).read_to_end(&mut path)?;
        let name = String::from_utf8_lossy(&path).into_owned();
        if kind == b'E' {
            continue;
        }
        let mut map_entries = [0; 4];
        if kind == b'S' {
            stream.read_exact(&mut map_entries)?;
        }
        let mut sizes = [0; 20];
        stream.read_exact(&mut sizes)?;
        stream.skip(little(Some(&map_entries)).saturating_mul(8))?;
        let size_bytes = little(sizes.get(..8));
        let mut content = Vec::new();
        stream.by_ref().take(size_bytes.min(head_bytes)).read_to_end(&mut content)?;
        let read = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if seen.insert(name.clone()) && !visit(Member { name, head: content, size_bytes }) {
            return Ok(());
        }
        stream.skip(size_bytes.saturating_sub(read))?;
    }
    Ok(())
}

fn little(bytes: Option<&[u8]>) -> u64 {
    bytes.unwrap_or_default().iter().rev().fold(0, |n, byte| n.wrapping_shl(8) | u64::from(*byte))
}
