//! The filter that runs in the kernel: TCP packets of some ports, each seen once, cut after [`SNAP_BYTES`].
//!
//! Source: Linux's `Documentation/networking/filter.rst`. Offsets count from the IP header, because the socket has the
//! type `SOCK_DGRAM`. Loopback shows every packet twice, leaving and arriving: the leaving one is dropped, as libpcap
//! does.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JA, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_LDX,
    BPF_MEM, BPF_MSH, BPF_RET, BPF_ST, BPF_W, SKF_AD_IFINDEX, SKF_AD_OFF, SKF_AD_PKTTYPE,
};

/// Bytes of a packet that reach this program: more than an Ethernet frame has, less than what cards and kernels join.
pub(super) const SNAP_BYTES: u32 = 2048;

/// `PACKET_OUTGOING` of `linux/if_packet.h`.
const OUTGOING: u32 = 4;

/// One instruction: code, instructions to skip if true and if false, operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) if_true: u8,
    pub(super) if_false: u8,
    pub(super) operand: u32,
}

const TCP: u32 = 6;

/// Headers of IPv6 that may stand before TCP: hop-by-hop, routing, fragment, destination options. Such packets are rare,
/// and looked at outside the kernel.
const EXTENSIONS: [u32; 4] = [0, 43, 44, 60];

/// The filter for these ports, at most [`crate::MAX_PORTS`], of one interface or of all.
pub(super) fn program(ports: &[u16], interface: Option<u32>, loopback: Option<u32>) -> Vec<Instruction> {
    let mut program = Vec::new();
    if let Some(index) = interface {
        program.extend([load_ancillary(SKF_AD_IFINDEX), equal(index, 1, 0), reject()]);
    }
    if let Some(index) = loopback {
        program.extend([load_ancillary(SKF_AD_IFINDEX), equal(index, 0, 3)]);
        program.extend([load_ancillary(SKF_AD_PKTTYPE), equal(OUTGOING, 0, 1), reject()]);
    }
    let (v4, v6) = (version_4(), version_6());
    // The version decides which part runs.
    program.extend([load_byte(0), of(BPF_ALU | BPF_AND | BPF_K, 0xf0)]);
    program.extend([equal(0x40, 3, 0), equal(0x60, 1, 0), reject(), jump(v4.len().saturating_add(1))]);
    program.extend(&v4);
    program.push(jump(v6.len()));
    program.extend(&v6);
    program.extend(port_tests(ports));
    program
}

/// Leaves the source port in `M[0]` and the destination port in the accumulator. Later fragments have no ports.
fn version_4() -> Vec<Instruction> {
    vec![
        load_byte(9),
        equal(TCP, 1, 0),
        reject(),
        load_half(6),
        test(BPF_JSET, 0x1fff, 0, 1),
        reject(),
        of(BPF_LDX | BPF_B | BPF_MSH, 0),
        of(BPF_LD | BPF_H | BPF_IND, 0),
        of(BPF_ST, 0),
        of(BPF_LD | BPF_H | BPF_IND, 2),
    ]
}

/// As [`version_4`].
fn version_6() -> Vec<Instruction> {
    let mut part = vec![load_byte(6)];
    for extension in EXTENSIONS {
        part.extend([equal(extension, 0, 1), accept()]);
    }
    part.extend([equal(TCP, 1, 0), reject(), load_half(40), of(BPF_ST, 0), load_half(42)]);
    part
}

fn port_tests(ports: &[u16]) -> Vec<Instruction> {
    let one = |port: &u16| [equal(u32::from(*port), 0, 1), accept()];
    let destination = ports.iter().flat_map(one);
    let source = ports.iter().flat_map(one);
    destination.chain([of(BPF_LD | BPF_MEM, 0)]).chain(source).chain([reject()]).collect()
}

fn of(code: u32, operand: u32) -> Instruction {
    let code = u16::try_from(code).unwrap_or_default();
    Instruction { code, if_true: 0, if_false: 0, operand }
}

fn test(comparison: u32, operand: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { if_true, if_false, ..of(BPF_JMP | comparison | BPF_K, operand) }
}

fn equal(operand: u32, if_true: u8, if_false: u8) -> Instruction {
    test(BPF_JEQ, operand, if_true, if_false)
}

fn jump(over: usize) -> Instruction {
    of(BPF_JMP | BPF_JA, u32::try_from(over).unwrap_or_default())
}

fn load_byte(offset: u32) -> Instruction {
    of(BPF_LD | BPF_B | BPF_ABS, offset)
}

fn load_half(offset: u32) -> Instruction {
    of(BPF_LD | BPF_H | BPF_ABS, offset)
}

/// Loads what the kernel knows of the packet beside its bytes.
fn load_ancillary(what: i32) -> Instruction {
    of(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF.saturating_add(what).cast_unsigned())
}

fn accept() -> Instruction {
    of(BPF_RET | BPF_K, SNAP_BYTES)
}

fn reject() -> Instruction {
    of(BPF_RET | BPF_K, 0)
}
