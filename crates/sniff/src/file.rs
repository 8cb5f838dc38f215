//! Packets of a file: pcap, as tcpdump writes it, or pcapng.
//!
//! Source: the Internet drafts "PCAP Capture File Format" and "PCAP Now Generic (pcapng)". The formats are parsed by
//! `pcap-parser`.

use std::fs::File;
use std::num::NonZeroU64;
use std::path::Path;

use jiff::Timestamp;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use crate::error::Error;
use crate::flow::FlowTable;
use crate::packet::{Link, parse};

/// Memory for the file: the largest block that is read. tcpdump cuts packets at 256 KiB.
const BUFFER_BYTES: usize = 1 << 20;

const MICROSECONDS: NonZeroU64 = NonZeroU64::new(1_000_000).unwrap();
const NANOSECONDS: NonZeroU64 = NonZeroU64::new(1_000_000_000).unwrap();

/// Interfaces that one section may describe.
const MAX_INTERFACES: usize = 1024;

/// What the blocks before a packet say of it.
#[derive(Debug, Clone, Copy)]
struct Interface {
    number: i32,
    /// Units of a time stamp in a second.
    resolution: NonZeroU64,
    /// Seconds to be added to time stamps.
    offset: i64,
}

/// A file's packets so far.
#[derive(Debug, Default)]
struct Reading {
    interfaces: Vec<Interface>,
    /// Packets of a link type that is read.
    read: u64,
    /// The first link type that is not read.
    foreign: Option<i32>,
    time: Timestamp,
}

/// Gives all packets of a file to the table. Returns whether the file ends within a packet, as it does while a capture is
/// still being written.
///
/// # Errors
/// [`Error::File`], [`Error::NotACapture`], [`Error::Damaged`], [`Error::LinkType`].
pub(crate) fn read(path: &Path, table: &mut FlowTable) -> Result<bool, Error> {
    let file = File::open(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    let damaged = |offset: usize, reason| Error::Damaged {
        path: path.to_owned(),
        offset: u64::try_from(offset).unwrap_or(u64::MAX),
        reason,
    };
    let mut reader = create_reader(BUFFER_BYTES, file).map_err(|_| Error::NotACapture { path: path.to_owned() })?;
    let mut reading = Reading::default();
    let mut is_refilled_at = None;
    let is_cut = loop {
        let position = reader.consumed();
        match reader.next() {
            Ok((length, block)) => {
                reading.block(&block, table);
                reader.consume(length);
            }
            Err(PcapError::Eof) => break false,
            Err(PcapError::UnexpectedEof) => break true,
            Err(PcapError::Incomplete(_)) if is_refilled_at != Some(position) => {
                is_refilled_at = Some(position);
                if reader.refill().is_err() {
                    return Err(damaged(position, "cannot be read, or has a block of more than 1 MiB"));
                }
            }
            Err(PcapError::Incomplete(_)) => break true,
            Err(PcapError::BufferTooSmall) => return Err(damaged(position, "a block has more than 1 MiB")),
            Err(PcapError::ReadError) => return Err(damaged(position, "the file cannot be read")),
            Err(_) => return Err(damaged(position, "is not a block of a capture file")),
        }
    };
    match reading.foreign {
        Some(number) if reading.read == 0 => Err(Error::LinkType { path: path.to_owned(), number }),
        _ => Ok(is_cut),
    }
}

impl Reading {
    fn block(&mut self, block: &PcapBlockOwned<'_>, table: &mut FlowTable) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() { NANOSECONDS } else { MICROSECONDS };
                self.interfaces = vec![Interface { number: number_of(header.network), resolution, offset: 0 }];
            }
            PcapBlockOwned::Legacy(packet) => {
                let Some(interface) = self.interfaces.first().copied() else { return };
                self.time = time(i64::from(packet.ts_sec), u64::from(packet.ts_usec), interface.resolution);
                self.packet(interface, packet.data, table);
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
                if self.interfaces.len() < MAX_INTERFACES {
                    self.interfaces.push(Interface {
                        number: number_of(described.linktype),
                        resolution: described.ts_resolution().and_then(NonZeroU64::new).unwrap_or(MICROSECONDS),
                        offset: described.ts_offset(),
                    });
                }
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let index = usize::try_from(packet.if_id).ok();
                let Some(interface) = index.and_then(|index| self.interfaces.get(index)).copied() else { return };
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                self.time = time(interface.offset, units, interface.resolution);
                // The data have padding behind them.
                let length = usize::try_from(packet.caplen).unwrap_or(usize::MAX);
                self.packet(interface, packet.data.get(..length).unwrap_or(packet.data), table);
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                // Without a time of its own: that of the packet before.
                let Some(interface) = self.interfaces.first().copied() else { return };
                let length = usize::try_from(packet.origlen).unwrap_or(usize::MAX);
                self.packet(interface, packet.data.get(..length).unwrap_or(packet.data), table);
            }
            PcapBlockOwned::NG(_) => {}
        }
    }

    fn packet(&mut self, interface: Interface, bytes: &[u8], table: &mut FlowTable) {
        let Some(link) = Link::from_number(interface.number) else {
            self.foreign.get_or_insert(interface.number);
            return;
        };
        self.read = self.read.saturating_add(1);
        if let Some(segment) = parse(link, bytes) {
            table.push(self.time, &segment);
        }
    }
}

/// The lower 16 bits are the type: the others say how long the checksum behind a frame is.
const fn number_of(link: Linktype) -> i32 {
    link.0 & 0xffff
}

/// A time of seconds and of `units`, of which a second has `resolution`. Nonsense becomes the beginning of time.
fn time(seconds: i64, units: u64, resolution: NonZeroU64) -> Timestamp {
    let whole = i64::try_from(units.div_euclid(resolution.get())).unwrap_or(i64::MAX);
    let rest = u128::from(units.rem_euclid(resolution.get())).saturating_mul(u128::from(NANOSECONDS.get()));
    let nanoseconds = i32::try_from(rest.div_euclid(u128::from(resolution.get()))).unwrap_or_default();
    Timestamp::new(seconds.saturating_add(whole), nanoseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use etherparse::PacketBuilder;
    use tempfile::NamedTempFile;

    use super::*;
    use crate::classify::{Protocol, State};
    use crate::flow::Seen;
    use crate::service::Ports;

    const QUERY: &[u8] = b"\x09\0\0\0\x03SELECT 1";

    fn packet() -> Vec<u8> {
        let mut packet = Vec::new();
        let tcp = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(40000, 3306, 7, 1000);
        tcp.write(&mut packet, QUERY).unwrap();
        packet
    }

    fn words(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn pcap(magic: u32, link: u32, fraction: u32) -> Vec<u8> {
        let length = u32::try_from(packet().len()).unwrap();
        let header = [words(&[magic, 0x0004_0002, 0, 0, 65_535, link]), words(&[1000, fraction, length, length])];
        [header.concat(), packet()].concat()
    }

    fn pcapng() -> Vec<u8> {
        let section = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
        let interface = words(&[1, 20, 101, 0, 20]);
        let mut data = packet();
        let length = u32::try_from(data.len()).unwrap();
        data.resize(data.len().next_multiple_of(4), 0);
        let block = u32::try_from(data.len()).unwrap() + 32;
        let time = 1_000_500_000_u64;
        let enhanced = words(&[6, block, 0, u32::try_from(time >> 32).unwrap(), 1_000_500_000, length, length]);
        [section, interface, enhanced, data, words(&[block])].concat()
    }

    fn read_bytes(bytes: &[u8]) -> Result<(bool, Seen), Error> {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut table = FlowTable::new(Ports::usual());
        let is_cut = read(file.path(), &mut table)?;
        Ok((is_cut, table.finish()))
    }

    #[test]
    fn pcap_and_pcapng_are_read_with_their_times() {
        let files = [pcap(0xa1b2_c3d4, 101, 500_000), pcap(0xa1b2_3c4d, 101, 500_000_000), pcapng()];
        for bytes in files {
            let (is_cut, seen) = read_bytes(&bytes).unwrap();
            assert!(!is_cut);
            let [row] = &seen.traffic[..] else { panic!("{seen:?}") };
            assert_eq!((row.protocol, row.state), (Protocol::Mysql, State::Clear));
            assert_eq!(row.first_seen.as_millisecond(), 1_000_500);
        }
    }

    #[test]
    fn a_file_that_ends_within_a_packet_is_read_up_to_there() {
        let whole = pcap(0xa1b2_c3d4, 101, 0);
        let twice = [&whole[..], &whole[24..]].concat();
        for end in [twice.len() - 1, whole.len() + 3] {
            let (is_cut, seen) = read_bytes(&twice[..end]).unwrap();
            assert!(is_cut, "{end}");
            assert_eq!(seen.packets, 1, "{end}");
        }
    }

    #[test]
    fn other_files_are_refused_by_what_they_are() {
        for bytes in [&b""[..], b"-- MySQL dump", &[0; 100]] {
            assert!(matches!(read_bytes(bytes), Err(Error::NotACapture { .. })));
        }
        let wireless = read_bytes(&pcap(0xa1b2_c3d4, 105, 0));
        assert!(matches!(wireless, Err(Error::LinkType { number: 105, .. })), "{wireless:?}");
        assert!(matches!(read(Path::new("/nowhere"), &mut FlowTable::new(Ports::any())), Err(Error::File { .. })));
    }
}
