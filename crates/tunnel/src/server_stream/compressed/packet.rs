//! One compressed packet: its header, and its content, decompressed and compared.
//!
//! Source: MySQL's "Compressed Packet"; an uncompressed length of 0 marks an uncompressed payload.
//! The first bytes of a payload show the compression method (RFC 1950, RFC 8878).

use std::{cell::RefCell, io::Read};

use flate2::bufread::ZlibDecoder;
use zeroize::Zeroizing;
use zstd::bulk::Decompressor;

use super::super::password::{CHANGE_USER, MAX_PACKET_BYTES};
use crate::greeting;

/// Length, sequence number, length before compression.
pub(super) const HEADER_BYTES: usize = 7;

/// Magic of a zstd frame. No zlib stream starts like this: its first two bytes are a multiple of
/// 31.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Upper bound of zlib's code tables plus a few bytes: enough to recognise commands without
/// decompressing them.
const MAX_CODE_TABLE_BYTES: usize = 512;

/// Header of a compressed packet.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) length: usize,
    pub(super) number: u8,
    /// Length before compression; 0 means not compressed.
    before: usize,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, number, d, e, f] = *bytes.first_chunk::<HEADER_BYTES>()?;
        Some(Self { length: length([a, b, c]), number, before: length([d, e, f]) })
    }
}

fn length([a, b, c]: [u8; 3]) -> usize {
    u32::from_le_bytes([a, b, c, 0]) as usize
}

/// A compressed packet with its header.
pub(super) struct Packet(pub(super) Zeroizing<Vec<u8>>);

impl Packet {
    pub(super) fn number(&self) -> u8 {
        Header::parse(&self.0).map_or(0, |header| header.number)
    }

    /// Header and body, if the packet is not too long for a login.
    fn parts(&self) -> Option<(Header, &[u8])> {
        let header = Header::parse(&self.0).filter(|header| header.before <= MAX_PACKET_BYTES)?;
        let body = self.0.get(HEADER_BYTES..).filter(|body| body.len() == header.length)?;
        Some((header, body))
    }

    /// The decompressed content.
    pub(super) fn open(&self) -> Option<Zeroizing<Vec<u8>>> {
        let (header, body) = self.parts()?;
        if header.before == 0 {
            return Some(body.to_vec().into());
        }
        if body.starts_with(&ZSTD) {
            return unzstd(body, header.before).filter(|plain| plain.len() == header.before);
        }
        let mut plain = Zeroizing::new(vec![0; header.before]);
        let mut zlib = ZlibDecoder::new(body);
        zlib.read_exact(&mut plain).ok()?;
        // The content is complete only if the zlib stream ends here.
        matches!(zlib.read(&mut [0]), Ok(0)).then_some(plain)
    }

    /// Whether the packet contains exactly a change of user, if it starts a command.
    pub(super) fn is_change_of_user(&self) -> bool {
        let Some((header, body)) = self.parts() else { return false };
        let total = if header.before == 0 { header.length } else { header.before };
        let begins = if header.before > 0 && !body.starts_with(&ZSTD) {
            let mut begins = vec![0; greeting::HEADER_BYTES + 1];
            let body = body.get(..body.len().min(MAX_CODE_TABLE_BYTES)).unwrap_or_default();
            ZlibDecoder::new(body).read_exact(&mut begins).ok().map(|()| begins.into())
        } else {
            self.open()
        };
        match begins.as_deref().map(Vec::as_slice) {
            Some([a, b, c, 0, CHANGE_USER, ..]) => length([*a, *b, *c]) + greeting::HEADER_BYTES == total,
            _ => false,
        }
    }

    /// Appends the packet to `out` with another sequence number. If the content has changed, it is stored uncompressed.
    pub(super) fn append_renumbered(&self, out: &mut Vec<u8>, number: u8, before: &[u8], now: &[u8]) {
        if before != now {
            return append_uncompressed(out, number, now);
        }
        for (at, byte) in self.0.iter().enumerate() {
            out.push(if at == 3 { number } else { *byte });
        }
    }
}

/// Content of a zstd frame, if it has at most `most` bytes.
fn unzstd(frame: &[u8], most: usize) -> Option<Zeroizing<Vec<u8>>> {
    thread_local! {
        /// Creating a decompressor takes ten times as long as decompressing a command.
        static ZSTD_STATE: Option<RefCell<Decompressor<'static>>> = Decompressor::new().ok().map(RefCell::new);
    }
    ZSTD_STATE.with(|state| Some(state.as_ref()?.try_borrow_mut().ok()?.decompress(frame, most).ok()?.into()))
}

/// Appends an uncompressed packet to `out`, unless the body is empty.
pub(super) fn append_uncompressed(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    let [a, b, c, _] = u32::try_from(body.len()).unwrap_or(0).to_le_bytes();
    if !body.is_empty() {
        out.extend_from_slice(&[a, b, c, number, 0, 0, 0]);
        out.extend_from_slice(body);
    }
}

/// Whether the bytes are whole packets.
pub(super) fn are_packets(mut bytes: &[u8]) -> bool {
    while let Some(([a, b, c, _], body)) = bytes.split_first_chunk() {
        let Some(rest) = body.get(length([*a, *b, *c])..) else { return false };
        bytes = rest;
    }
    bytes.is_empty()
}
