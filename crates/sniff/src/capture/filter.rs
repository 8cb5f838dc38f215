//! The filter that runs in the kernel. It passes each TCP packet of the watched ports once, truncated to
//! [`SNAP_BYTES`].
//!
//! Source: Linux's `Documentation/networking/filter.rst`. Offsets count from the IP header, because the socket has the
//! type `SOCK_DGRAM`. The loopback interface delivers every packet twice, as outgoing and as incoming; the outgoing one
//! is dropped, as in libpcap.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JA, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_LDX,
    BPF_MEM, BPF_MSH, BPF_RET, BPF_ST, BPF_W, SKF_AD_IFINDEX, SKF_AD_OFF, SKF_AD_PKTTYPE,
};

/// Maximum number of bytes passed of a packet: more than an Ethernet frame has, but less than the large packets that
/// network cards and kernels merge.
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

/// IPv6 extension headers that may precede TCP: hop-by-hop, routing, fragment, destination options. Such packets are
/// rare, so all of them pass and are examined outside the kernel.
const EXTENSIONS: [u32; 4] = [0, 43, 44, 60];

/// The filter for these ports, at most [`crate::MAX_PORTS`], on one interface or on all.
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
    // The IP version decides which part runs.
    program.extend([load_byte(0), of(BPF_ALU | BPF_AND | BPF_K, 0xf0)]);
    program.extend([equal(0x40, 3, 0), equal(0x60, 1, 0), reject(), jump(v4.len().saturating_add(1))]);
    program.extend(&v4);
    program.push(jump(v6.len()));
    program.extend(&v6);
    program.extend(port_tests(ports));
    program
}

/// Loads the source port into `M[0]` and the destination port into the accumulator. Fragments after the first have no
/// ports and are rejected.
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

/// As [`version_4`], for IPv6.
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

/// Loads a property of the packet that is not in its bytes, such as its interface.
fn load_ancillary(what: i32) -> Instruction {
    of(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF.saturating_add(what).cast_unsigned())
}

fn accept() -> Instruction {
    of(BPF_RET | BPF_K, SNAP_BYTES)
}

fn reject() -> Instruction {
    of(BPF_RET | BPF_K, 0)
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    const LOOPBACK: u32 = 1;

    /// Runs a program as the kernel does. Returns the number of bytes of the packet that pass.
    fn run(program: &[Instruction], packet: &[u8], interface: u32, is_outgoing: bool) -> u32 {
        let (mut accumulator, mut index, mut memory, mut at) = (0_u32, 0_u32, 0_u32, 0_usize);
        let half = |offset: u32| {
            let offset = offset as usize;
            packet.get(offset..offset + 2).map(|bytes| u32::from(u16::from_be_bytes([bytes[0], bytes[1]])))
        };
        loop {
            let Instruction { code, if_true, if_false, operand } = program[at];
            at += 1;
            let code = u32::from(code);
            if code == BPF_RET | BPF_K {
                return operand;
            } else if code == BPF_LD | BPF_W | BPF_ABS {
                let what = operand.cast_signed() - SKF_AD_OFF;
                accumulator = match (what == SKF_AD_IFINDEX, is_outgoing) {
                    (true, _) => interface,
                    (false, true) => OUTGOING,
                    (false, false) => 0,
                };
            } else if code == BPF_LD | BPF_B | BPF_ABS {
                let Some(byte) = packet.get(operand as usize) else { return 0 };
                accumulator = u32::from(*byte);
            } else if code == BPF_LD | BPF_H | BPF_ABS {
                let Some(value) = half(operand) else { return 0 };
                accumulator = value;
            } else if code == BPF_LD | BPF_H | BPF_IND {
                let Some(value) = half(index + operand) else { return 0 };
                accumulator = value;
            } else if code == BPF_LDX | BPF_B | BPF_MSH {
                index = u32::from(packet[operand as usize] & 0xf) * 4;
            } else if code == BPF_ALU | BPF_AND | BPF_K {
                accumulator &= operand;
            } else if code == BPF_ST {
                memory = accumulator;
            } else if code == BPF_LD | BPF_MEM {
                accumulator = memory;
            } else if code == BPF_JMP | BPF_JA {
                at += operand as usize;
            } else {
                let holds = match code {
                    code if code == BPF_JMP | BPF_JEQ | BPF_K => accumulator == operand,
                    code if code == BPF_JMP | BPF_JSET | BPF_K => accumulator & operand != 0,
                    other => panic!("{other:#x}"),
                };
                at += usize::from(if holds { if_true } else { if_false });
            }
        }
    }

    fn tcp(v6: bool, from: u16, to: u16) -> Vec<u8> {
        let mut packet = Vec::new();
        let tcp = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(from, to, 7, 1000)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(from, to, 7, 1000)
        };
        tcp.write(&mut packet, b"payload").unwrap();
        packet
    }

    #[test]
    fn packets_of_the_ports_pass_in_both_directions() {
        let ports: Vec<u16> = (3306..3306 + 64).collect();
        let program = program(&ports, None, Some(LOOPBACK));
        for v6 in [false, true] {
            for (from, to, passes) in [(40000, 3306, true), (3369, 40000, true), (40000, 3305, false), (1, 3370, false)]
            {
                let passed = run(&program, &tcp(v6, from, to), 2, true) > 0;
                assert_eq!(passed, passes, "{v6} {from} {to}");
            }
        }
        let mut fragment = tcp(false, 40000, 3306);
        fragment[7] = 1;
        assert_eq!(run(&program, &fragment, 2, false), 0);
        let mut udp = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 3306).write(&mut udp, b"x").unwrap();
        assert_eq!(run(&program, &udp, 2, false), 0);
        assert_eq!(run(&program, &[0; 40], 2, false), 0);
        assert!(program.len() < 4096);
    }

    #[test]
    fn loopback_is_seen_once_and_other_interfaces_are_left_out() {
        let packet = tcp(false, 40000, 3306);
        let all = program(&[3306], None, Some(LOOPBACK));
        assert_eq!(run(&all, &packet, LOOPBACK, true), 0);
        assert_eq!(run(&all, &packet, LOOPBACK, false), SNAP_BYTES);
        assert_eq!(run(&all, &packet, 2, true), SNAP_BYTES);
        let one = program(&[3306], Some(2), Some(LOOPBACK));
        assert_eq!((run(&one, &packet, 2, false), run(&one, &packet, 3, false)), (SNAP_BYTES, 0));
    }
}
