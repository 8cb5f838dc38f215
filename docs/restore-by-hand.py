#!/usr/bin/env python3
"""Restores a backup of sealant without sealant.

usage: restore-by-hand.py REPOSITORY HOST NUMBER IDENTITY SIGNERS TARGET

Needs Python's standard library and the programs age, zstd, ssh-keygen and sha256sum. The format is in
docs/formats/backup.md. Frames with opened pages need the server's keys to be sealed, which this program does not do: it ends
with a message that names the file. Backups of clear tables, and with pages = "as-is", are restored to the byte.
"""
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

MAGIC = 0x184D2A5E


def program(*arguments, data=None):
    done = subprocess.run(arguments, input=data, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{arguments[0]} ended with {done.returncode}")
    return done.stdout


def check_sum(path, expected):
    found = program("sha256sum", "--", str(path)).split()[0].decode()
    if found != expected["sha256"] or path.stat().st_size != expected["bytes"]:
        sys.exit(f"{path}: it is not what the receipt says")


def read_receipt(hosts, number, host, signers):
    path = hosts / "receipts" / f"{number:06}.json"
    receipt = path.read_bytes()
    program("ssh-keygen", "-Y", "verify", "-f", signers, "-I", host, "-n", "sealant-receipt",
            "-s", f"{path}.sig", data=receipt)
    receipt = json.loads(receipt)
    if (receipt["schema"], receipt["host"], receipt["number"]) != ("sealant.receipt/1", host, number):
        sys.exit(f"{path}: it is the receipt of something else")
    return receipt


def read_manifest(path, receipt, identity):
    check_sum(path, receipt["manifest"])
    lines = program("zstd", "-dcq", data=program("age", "-d", "-i", identity, str(path))).splitlines()
    head = json.loads(lines[0])
    if any(head[field] != receipt[field] for field in ("repo", "host", "number")):
        sys.exit(f"{path}: it is the manifest of something else")
    lists = {"entry": [], "pack": [], "run": []}
    for line in lines[1:]:
        kind, value = next(iter(json.loads(line).items()))
        lists.setdefault(kind, []).append(value)
    return lists


def path_of(entry, field="path"):
    name = bytes.fromhex(entry[f"{field}_bytes"]) if f"{field}_bytes" in entry else entry[field].encode()
    if name.startswith(b"/") or any(part in (b"", b".", b"..") for part in name.split(b"/")):
        sys.exit(f"{name!r} leads out of the target")
    return name


def make(target, entries):
    for entry in entries:
        path = os.path.join(os.fsencode(target), path_of(entry))
        if entry["kind"] == "directory":
            os.mkdir(path, 0o700)
        elif entry["kind"] == "link":
            os.symlink(bytes.fromhex(entry["target_bytes"]), path)
        else:
            with open(path, "xb") as file:
                file.truncate(entry["bytes"])


def frame(plain, run, entry):
    magic, length = struct.unpack_from("<II", plain, run["z"])
    begin = run["z"] + 8 + length
    description = json.loads(plain[run["z"] + 8:begin])
    if magic != MAGIC:
        sys.exit("a frame does not begin where the manifest says")
    if "form" in description:
        sys.exit(f"{entry['path']}: its pages are opened in the backup; sealing them needs the server's keys")
    return program("zstd", "-dcq", data=plain[begin:run["z"] + run["zn"]])


def write(target, lists, hosts, identity):
    by_pack = {}
    for run in lists["run"]:
        by_pack.setdefault(run["p"], []).append(run)
    for number, runs in sorted(by_pack.items()):
        pack = lists["pack"][number]
        path = hosts / "packs" / pack["sha256"][:2] / f"{pack['sha256']}.age"
        check_sum(path, pack)
        plain = program("age", "-d", "-i", identity, str(path))
        unpacked = (None, b"")
        for run in sorted(runs, key=lambda run: run["z"]):
            entry = lists["entry"][run["f"]]
            if unpacked[0] != run["z"]:
                unpacked = (run["z"], frame(plain, run, entry))
            with open(os.path.join(os.fsencode(target), path_of(entry)), "r+b") as file:
                file.seek(run["at"])
                file.write(unpacked[1][run["o"]:run["o"] + run["n"]])


def dress(target, entries):
    for entry in reversed(entries):
        path = os.path.join(os.fsencode(target), path_of(entry))
        if os.geteuid() == 0:
            os.chown(path, entry["uid"], entry["gid"], follow_symlinks=False)
        if entry["kind"] != "link":
            os.chmod(path, int(entry["mode"], 8))
        seconds, nanoseconds = entry["modified"]
        time = seconds * 10**9 + nanoseconds
        os.utime(path, ns=(time, time), follow_symlinks=False)


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    repository, host, number, identity, signers, target = sys.argv[1:]
    hosts, number = Path(repository) / "hosts" / host, int(number)
    receipt = read_receipt(hosts, number, host, signers)
    lists = read_manifest(hosts / "manifests" / f"{number:06}.age", receipt, identity)
    if [pack["sha256"] for pack in lists["pack"]] != [pack["sha256"] for pack in receipt["packs"]]:
        sys.exit("the manifest names other packs than the receipt")
    os.mkdir(target, 0o700)
    make(target, lists["entry"])
    write(target, lists, hosts, identity)
    dress(target, lists["entry"])
    print(f"restored backup {number} of {host}: {len(lists['entry'])} files, directories and links")


if __name__ == "__main__":
    main()
