//! Reads packets from a capture file: pcap, as tcpdump writes it, or pcapng.
//!
//! Source: the Internet drafts "PCAP Capture File Format" and "PCAP Now Generic (pcapng)". The formats are parsed by
//! `pcap-parser`.

use std::fs::File;
use std::io::{self, Read};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;

use jiff::Timestamp;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use crate::error::Error;
use crate::flow::FlowTable;
use crate::packet::{Link, is_fragment, parse};

/// Size of the read buffer, and so the maximum length of a block. tcpdump truncates packets to 256 KiB.
const BUFFER_BYTES: usize = 1 << 20;

const TOO_LARGE: &str = "a block has more than 1 MiB";
const UNREADABLE: &str = "the file cannot be read";

const MICROSECONDS: NonZeroU64 = NonZeroU64::new(1_000_000).unwrap();
const NANOSECONDS: NonZeroU64 = NonZeroU64::new(1_000_000_000).unwrap();

/// Maximum number of interfaces of a section; further ones are ignored.
const MAX_INTERFACES: usize = 1024;

/// A file or a pipe. Each read fills the buffer unless the input ends: `pcap-parser` detects the format in the result
/// of the first read alone, and a read of a pipe may return few bytes.
struct Filled<R>(R);

impl<R: Read> Read for Filled<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0_usize;
        while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.0.read(rest) {
                Ok(0) => break,
                Ok(count) => filled = filled.saturating_add(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// An interface, as the header of the file or section describes it.
#[derive(Debug, Clone, Copy)]
struct Interface {
    number: i32,
    /// Timestamp units per second.
    resolution: NonZeroU64,
    /// Seconds to add to timestamps.
    offset: i64,
    /// Length to which the capture truncated packets, in bytes.
    snap_bytes: u32,
}

/// State of reading a file.
#[derive(Debug, Default)]
struct Reading {
    interfaces: Vec<Interface>,
    /// Whether any packet had a supported link type.
    is_read: bool,
    /// The first unsupported link type.
    foreign: Option<i32>,
    time: Timestamp,
}

/// Adds all packets of a file to the table. Returns whether the file ends within a packet, which is normal while the
/// capture is still being written.
///
/// # Errors
/// [`Error::File`], [`Error::NotACapture`], [`Error::Damaged`], [`Error::LinkType`].
pub(crate) fn read(path: &Path, table: &mut FlowTable) -> Result<bool, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    read_from(file, path, table)
}

fn read_from(file: impl Read + Send, path: &Path, table: &mut FlowTable) -> Result<bool, Error> {
    let damaged = |offset: usize, reason| Error::Damaged {
        path: path.to_owned(),
        offset: u64::try_from(offset).unwrap_or(u64::MAX),
        reason,
    };
    let mut reader =
        create_reader(BUFFER_BYTES, Filled(file)).map_err(|_| Error::NotACapture { path: path.to_owned() })?;
    let mut reading = Reading::default();
    let is_cut = loop {
        let position = reader.consumed();
        match reader.next() {
            Ok((length, block)) => {
                reading.block(&block, table);
                reader.consume(length);
            }
            Err(PcapError::Eof) => break false,
            Err(PcapError::UnexpectedEof) => break true,
            Err(PcapError::Incomplete(_)) => {
                if reader.reader_exhausted() {
                    break true;
                }
                if reader.data().len() >= BUFFER_BYTES {
                    return Err(damaged(position, TOO_LARGE));
                }
                if reader.refill().is_err() {
                    return Err(damaged(position, UNREADABLE));
                }
            }
            Err(PcapError::BufferTooSmall) => return Err(damaged(position, TOO_LARGE)),
            Err(PcapError::ReadError) => return Err(damaged(position, UNREADABLE)),
            Err(_) => return Err(damaged(position, "is not a block of a capture file")),
        }
    };
    match reading.foreign {
        Some(number) if !reading.is_read => Err(Error::LinkType { path: path.to_owned(), number }),
        _ => Ok(is_cut),
    }
}

impl Reading {
    fn block(&mut self, block: &PcapBlockOwned<'_>, table: &mut FlowTable) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() { NANOSECONDS } else { MICROSECONDS };
                let number = number_of(header.network);
                self.interfaces = vec![Interface { number, resolution, offset: 0, snap_bytes: u32::MAX }];
            }
            PcapBlockOwned::Legacy(packet) => {
                let Some(interface) = self.interfaces.first().copied() else { return table.skip() };
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
                        // 0 means no limit.
                        snap_bytes: NonZeroU32::new(described.snaplen).map_or(u32::MAX, NonZeroU32::get),
                    });
                }
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let index = usize::try_from(packet.if_id).ok();
                let Some(interface) = index.and_then(|index| self.interfaces.get(index)).copied() else {
                    return table.skip();
                };
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                self.time = time(interface.offset, units, interface.resolution);
                // `data` includes padding after the packet.
                let length = usize::try_from(packet.caplen).unwrap_or(usize::MAX);
                self.packet(interface, packet.data.get(..length).unwrap_or(packet.data), table);
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                // A simple packet has no timestamp; the time of the previous packet is used.
                let Some(interface) = self.interfaces.first().copied() else { return table.skip() };
                let length = usize::try_from(packet.origlen.min(interface.snap_bytes)).unwrap_or(usize::MAX);
                self.packet(interface, packet.data.get(..length).unwrap_or(packet.data), table);
            }
            PcapBlockOwned::NG(_) => {}
        }
    }

    fn packet(&mut self, interface: Interface, bytes: &[u8], table: &mut FlowTable) {
        let Some(link) = Link::from_number(interface.number) else {
            self.foreign.get_or_insert(interface.number);
            table.skip();
            return;
        };
        self.is_read = true;
        match parse(link, bytes) {
            Some(segment) => table.push(self.time, &segment),
            None if is_fragment(link, bytes) => table.skip(),
            None => {}
        }
    }
}

/// Number of the link type: the lower 16 bits. The others hold the length of the checksum after a frame.
const fn number_of(link: Linktype) -> i32 {
    link.0 & 0xffff
}

/// Converts `seconds` plus `units`, at `resolution` units per second, to a timestamp. An invalid time becomes the Unix
/// epoch.
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

    /// Length of the last packet of a file, including its header, in bytes.
    fn packets_of(file: &[u8]) -> usize {
        let is_pcapng = file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
        file.len() - if is_pcapng { 28 + 20 } else { 24 }
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

    /// A pipe whose writer sends a few bytes at a time.
    struct Slow<'b>(&'b [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = room.len().min(7);
            self.0.read(room.get_mut(..count).unwrap_or_default())
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        for bytes in [pcap(0xa1b2_c3d4, 101, 0), pcapng()] {
            let packet = &bytes[bytes.len() - packets_of(&bytes)..];
            let many = [bytes.clone(), packet.repeat(20_000)].concat();
            let mut table = FlowTable::new(Ports::usual());
            assert!(!read_from(Slow(&many), Path::new("pipe"), &mut table).unwrap());
            assert_eq!(table.finish().packets, 20_001);
        }
    }

    #[test]
    fn packets_that_cannot_be_read_are_counted() {
        // Adds a wireless interface, a packet on it, and a packet on an interface that is not described.
        let file = pcapng();
        let packet = &file[file.len() - packets_of(&file)..];
        let on = |interface: u32| [&packet[..8], &interface.to_le_bytes(), &packet[12..]].concat();
        let wireless = words(&[1, 20, 105, 0, 20]);
        let (_, seen) = read_bytes(&[&file[..], &wireless, &on(1), &on(2)].concat()).unwrap();
        assert_eq!((seen.packets, seen.skipped), (1, 2));
        let mut fragment = pcap(0xa1b2_c3d4, 101, 0);
        fragment[24 + 16 + 6] = 0x20;
        assert_eq!(read_bytes(&fragment).unwrap().1.skipped, 1);
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
